/** The shell function of docs/reference.md that makes `rangemaker` a command. */
import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };
import { Program } from "../support/process.ts";

const root = new URL("../../", import.meta.url).pathname;
const reference = Deno.readTextFileSync(`${root}docs/reference.md`);
const [line = ""] = /^rangemaker\(\) .*$/m.exec(reference) ?? assert.fail("No function");
const checkout = line.replaceAll("~/rangemaker/", root)
  .replace(/\bdeno\b/, `'${Deno.execPath()}'`);

Deno.test("docs/reference.md, rangemaker(): takes --version, --help and the --help of a command anywhere", async () => {
  const calls = "rangemaker --version && rangemaker --help && rangemaker node --help";
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    // Tests are started by a task, this is not.
    args: ["-c", `unset INIT_CWD\n${checkout}\n${calls}`],
    cwd: "/",
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  const text = decoder.decode(stdout);
  assert(text.startsWith(`rangemaker ${config.version}\n`), text);
  assert.match(text, /^Usage: rangemaker <command>/m);
  assert.match(text, /^Usage: rangemaker node /m);
});

Deno.test("docs/reference.md, rangemaker(): starts the console, whose page it bundles, anywhere", async () => {
  const [, body = ""] = /\{ (.*) "\$@"; \}$/.exec(checkout) ?? assert.fail(checkout);
  const args = ["-c", `exec ${body} console --port 0`];
  const program = new Program([], {}, { command: "sh", args, cwd: "/" });
  await program.until(({ stderr }) => stderr.includes("Listening on"));
  program.kill("SIGTERM");
  const { code, stderr } = await program.finished();
  assert.equal(code, 0, stderr);
});
