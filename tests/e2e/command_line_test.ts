import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import config from "../../deno.json" with { type: "json" };
import { commands as entries } from "../../main.ts";
import { runHere } from "../support/command_context.ts";
import { eventually } from "../support/eventually.ts";
import { Program, runProgram } from "../support/process.ts";
import { withFolder } from "../support/files.ts";

const commands = Object.keys(entries);

Deno.test("rangemaker --version: prints the version of deno.json", async () => {
  const { code, stdout } = await runHere(["--version"]);
  assert.equal(code, 0);
  assert.equal(stdout.trim(), `rangemaker ${config.version}`);
});

Deno.test("rangemaker --help: lists every command", async () => {
  const { code, stdout } = await runProgram(["--help"]);
  assert.equal(code, 0);
  for (const command of commands) assert.match(stdout, new RegExp(`^  ${command} `, "m"));
});

Deno.test("rangemaker: an unknown command is one line and exit code 2", async () => {
  const { code, stdout, stderr } = await runProgram(["sovler"]);
  assert.equal(code, 2);
  assert.equal(stdout, "");
  assert.equal(
    stderr,
    "Unknown command 'sovler' (did you mean solver?). See rangemaker --help\n",
  );
});

Deno.test("rangemaker: without a command it prints the help to stderr, exit code 2", async () => {
  const { code, stderr } = await runHere([]);
  assert.equal(code, 2);
  assert.match(stderr, /^Commands:$/m);
});

for (const command of commands) {
  Deno.test(`rangemaker ${command} --help: shows options and examples`, async () => {
    const { code, stdout } = await runHere([command, "--help"]);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^Usage: rangemaker ${command} `));
    assert.match(stdout, /^Options:$/m);
    assert.match(stdout, new RegExp(`^Examples:\\n  rangemaker ${command}`, "m"));
  });
}

const { privateKey } = DEV_ACCOUNTS.solver;
const wrong: readonly (readonly [string[], string])[] = [
  [
    ["solver", "-k", privateKey, "--port", "99999"],
    "Invalid --port: Expected a port from 0 to 65535",
  ],
  [["solver"], "Missing key: give --private-key or SOLVER_PRIVATE_KEY, or --keystore"],
  [["solver", "--max-rsk", "1"], "Unknown option '--max-rsk' (did you mean --max-risk?)"],
  [["key", "nw"], "Unknown command 'nw' (did you mean new?). See rangemaker key --help"],
  [["node", "--log-level", "wern"], "Invalid --log-level: Expected debug, info, warning or error"],
  [["solver", "-k", privateKey.slice(2)], "Invalid --private-key: Expected 0x and 64 hex digits"],
];

for (const [args, line] of wrong) {
  const shown = args.map((arg) => arg.length > 60 ? "…" : arg).join(" ");
  Deno.test(`rangemaker ${shown}: one clear line, exit code 2, no key shown`, async () => {
    const { code, stdout, stderr } = await runHere(args);
    assert.equal(code, 2, stderr);
    assert.equal(stdout, "");
    assert(stderr.startsWith(line), stderr);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
    assert(!stderr.includes(privateKey.slice(2)));
  });
}

Deno.test("rangemaker node: a start that fails for a taken port leaves no data directory", () =>
  withFolder(async (folder) => {
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = taken.addr as Deno.NetAddr;
    for (const [writes, reads] of [[port, 0], [0, port]]) {
      const ports = ["--port", `${writes}`, "--read-port", `${reads}`];
      const { code, stderr } = await runHere(["node", "--data-dir", `${folder}/chain`, ...ports]);
      assert.equal(code, 1, stderr);
      assert.deepEqual([...Deno.readDirSync(folder)], [], stderr);
    }
  }));

Deno.test("rangemaker: a service logs that it listens on every interface; the error of its taken port names it", async () => {
  const running = new Program(["exchanges", "--port", "0", "--host", "0.0.0.0"]);
  const listening = /Listening on http:\/\/0\.0\.0\.0:(\d+), every interface\n/;
  await running.until(({ stderr }) => listening.test(stderr));
  const [, port = ""] = listening.exec(running.stderr) ?? [];
  const { code, stderr } = await runHere(["console", "--port", port]);
  running.kill("SIGTERM");
  await running.finished();
  assert.equal(code, 1);
  assert(
    stderr.includes(`127.0.0.1:${port}: a running rangemaker exchanges listens there: `),
    stderr,
  );
  assert.match(stderr, /give the service another port with --port$/);
});

Deno.test("rangemaker: the error of a taken WebSocket port of the proxy names --ws-port", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr as Deno.NetAddr;
  const { code, stderr } = await runHere(["proxy", "--port", "0", "--ws-port", String(port)]);
  taken.close();
  assert.equal(code, 1);
  assert(stderr.includes(`Cannot listen on 127.0.0.1:${port}`), stderr);
  assert.match(stderr, /give the service another port with --ws-port$/);
});

const root = new URL("../../", import.meta.url).pathname;
const reference = Deno.readTextFileSync(`${root}docs/reference.md`);
const [line = ""] = /^rangemaker\(\) .*$/m.exec(reference) ?? assert.fail("No function");
const checkout = line.replaceAll("~/rangemaker/", root)
  .replace(/\bdeno\b/, `'${Deno.execPath()}'`);

Deno.test("rangemaker(), the shell function of docs/reference.md: works from any folder for --version, --help and a command's --help", async () => {
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

Deno.test("rangemaker(), the shell function of docs/reference.md: starts the console from any folder", async () => {
  const [, body = ""] = /\{ (.*) "\$@"; \}$/.exec(checkout) ?? assert.fail(checkout);
  const args = ["-c", `exec ${body} console --port 0`];
  const program = new Program([], {}, { command: "sh", args, cwd: "/" });
  await program.until(({ stderr }) => stderr.includes("Listening on"));
  program.kill("SIGTERM");
  const { code, stderr } = await program.finished();
  assert.equal(code, 0, stderr);
});

const main = new URL("../../main.ts", import.meta.url).pathname;

/** Enough for the program itself. */
const DESCRIPTORS = 150;

Deno.test("A service out of file descriptors logs that, and serves again when some are free", async () => {
  const line = `ulimit -n ${DESCRIPTORS}; exec '${Deno.execPath()}' run -A '${main}' "$0" "$@"`;
  const program = new Program(["exchanges", "--port", "0"], {}, {
    command: "bash",
    args: ["-c", line],
  });
  const listening = /Listening on http:\/\/127\.0\.0\.1:(\d+)/;
  await program.until(({ stderr }) => listening.test(stderr));
  const port = Number(listening.exec(program.stderr)?.[1]);
  const attempts = await Promise.allSettled(
    Array.from({ length: DESCRIPTORS }, () => Deno.connect({ hostname: "127.0.0.1", port })),
  );
  await program.until(({ stderr }) => stderr.includes("Listening failed, reopening"));
  for (const attempt of attempts) if (attempt.status === "fulfilled") attempt.value.close();
  await eventually("it serves again", async () => {
    const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok || undefined;
  });
  program.kill("SIGTERM");
  assert.equal((await program.finished()).code, 0);
});
