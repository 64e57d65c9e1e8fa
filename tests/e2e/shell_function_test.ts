/** The shell function of docs/reference.md that makes `rangemaker` a command. */
import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };

const root = new URL("../../", import.meta.url).pathname;
const reference = Deno.readTextFileSync(`${root}docs/reference.md`);

Deno.test("docs/reference.md, rangemaker(): takes --version, --help and the --help of a command anywhere", async () => {
  const [line = ""] = /^rangemaker\(\) .*$/m.exec(reference) ?? assert.fail("No function");
  const checkout = line.replace("~/rangemaker/", root)
    .replace(/\bdeno\b/, `'${Deno.execPath()}'`);
  const calls = "rangemaker --version && rangemaker --help && rangemaker node --help";
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", `${checkout}\n${calls}`],
    cwd: "/",
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  const text = decoder.decode(stdout);
  assert(text.startsWith(`rangemaker ${config.version}\n`), text);
  assert.match(text, /^Usage: rangemaker <command>/m);
  assert.match(text, /^Usage: rangemaker node /m);
});
