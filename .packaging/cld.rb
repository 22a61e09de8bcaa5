# The recipe for Homebrew. `.packaging/release` fills in version, address and sum.
class Cld < Formula
  desc "Keeps many Claude Code sessions in tmux within reach"
  homepage "https://docs.rs/cld"
  url "@URL@/cld-@VERSION@.tar.gz"
  version "@VERSION@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "rust" => :build
  depends_on "tmux"

  def install
    system "cargo", "install", *std_cargo_args
    man1.install Dir["man/*.1"]
    man5.install Dir["man/*.5"]
    man7.install Dir["man/*.7"]
    bash_completion.install "completions/cld.bash" => "cld"
    zsh_completion.install "completions/_cld"
    fish_completion.install "completions/cld.fish"
    pkgshare.install Dir["shell/*"]
  end

  def caveats
    <<~EOS
      To register cld with Claude Code:
        cld setup
    EOS
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/cld --version")
    assert_empty shell_output("#{bin}/cld ls")
  end
end
