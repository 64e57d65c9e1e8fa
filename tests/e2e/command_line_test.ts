/** The program as its users start it: arguments, files, exit codes and signals. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { ExitCode } from "../../lib/cli/command.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import config from "../../deno.json" with { type: "json" };
import { commands as entries } from "../../main.ts";
import { runHere } from "../support/command_context.ts";
import { eventually } from "../support/eventually.ts";
import { bundledProgram, Program, runProgram } from "../support/process.ts";
import { withFolder } from "../support/files.ts";

const commands = Object.keys(entries);
const root = fileURLToPath(new URL("../../", import.meta.url));

const bundled = await bundledProgram();
const start = (...args: string[]) => new Program(args, {}, bundled);

/** A port whose connections are accepted and never answered, until the end of the block. */
function silentPort() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr; // as of every TCP listener
  return { listener, port, [Symbol.dispose]: () => listener.close() };
}

Deno.test("rangemaker --version: prints the version of deno.json", async () => {
  const { code, stdout } = await runHere(["--version"]);
  assert.equal(code, 0);
  assert.equal(stdout.trim(), `rangemaker ${config.version}`);
});

Deno.test("rangemaker --help: lists every command", async () => {
  const { code, stdout } = await runHere(["--help"]);
  assert.equal(code, 0);
  for (const command of commands) assert.match(stdout, new RegExp(`^  ${command} `, "m"));
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
  [["solver"], "Missing key: give --private-key or SOLVER_PRIVATE_KEY, or --keystore"],
  [["sovler"], "Unknown command 'sovler' (did you mean solver?). See rangemaker --help"],
  [["--hlep"], "Unknown option '--hlep' (did you mean --help?). See rangemaker --help"],
  [
    [`--private-key=${privateKey.slice(2)}`, "solver"],
    "Unknown option '--private-key': options follow the command. See rangemaker --help",
  ],
  [["key", "nw"], "Unknown command 'nw' (did you mean new?). See rangemaker key --help"],
  [["solver", "-k", privateKey.slice(2)], "Invalid --private-key: Expected 0x and 64 hex digits"],
];

for (const [args, line] of wrong) {
  Deno.test(`rangemaker ${args[0]}: ${line.split(/[:.]/)[0]}: one clear line, exit code 2, no key shown`, async () => {
    const { code, stdout, stderr } = await runHere(args);
    assert.equal(code, 2, stderr);
    assert.equal(stdout, "");
    assert(stderr.startsWith(line), stderr);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
    assert(!stderr.includes(privateKey.slice(2)));
  });
}

Deno.test("rangemaker: standard output on a full disk ends a command with one line, exit code 1", async () => {
  const script = '"$0" run --allow-all "$1" proxy --help > /dev/full';
  const command = new Deno.Command("sh", {
    args: ["-c", script, Deno.execPath(), `${root}main.ts`],
    stderr: "piped",
  });
  const { code, stderr } = await command.output();
  assert.equal(code, 1);
  const line = /^Standard output cannot be written: No space left on device[^\n]*\n$/;
  assert.match(new TextDecoder().decode(stderr), line);
});

Deno.test("rangemaker key new: the keystore has the usual scrypt cost", () =>
  withFolder(async (folder) => {
    const files = ["--keystore", `${folder}/key`, "--keystore-password-file", `${folder}/password`];
    const { code, stderr } = await runProgram(["key", "new", ...files]);
    assert.equal(code, 0, stderr);
    const { crypto } = JSON.parse(await Deno.readTextFile(`${folder}/key`));
    assert.deepEqual([crypto.kdf, crypto.kdfparams.n], ["scrypt", 262_144]);
  }));

Deno.test("rangemaker node: a start that fails for a taken port leaves no data directory", () =>
  withFolder(async (folder) => {
    using taken = silentPort();
    const { port } = taken;
    for (const [writes, reads] of [[port, 0], [0, port]]) {
      const ports = ["--port", `${writes}`, "--read-port", `${reads}`];
      const { code, stderr } = await runHere(["node", "--data-dir", `${folder}/chain`, ...ports]);
      assert.equal(code, 1, stderr);
      assert.deepEqual([...Deno.readDirSync(folder)], [], stderr);
    }
  }));

Deno.test("rangemaker: control characters in the answer of another service do not reach the terminal", async () => {
  const error = "no\x1b]0;title\x07\x1b[2J\x9b2J";
  const handler = () => Response.json({ success: false, error, code: "NO" }, { status: 400 });
  await using bridge = Deno.serve({ port: 0, onListen() {} }, handler);
  const { code, stdout, stderr } = await runProgram(
    ["solver", "deposit", "--amount", "1", "--bridge-url", `http://127.0.0.1:${bridge.addr.port}`],
    { SOLVER_PRIVATE_KEY: DEV_ACCOUNTS.solver.privateKey },
  );
  assert.equal(code, ExitCode.failed);
  assert.match(stderr, /no\\u001b\]0;title/);
  assert.doesNotMatch(stdout + stderr, /(?!\n)\p{Cc}/u);
});

Deno.test("rangemaker: the error of a taken port names the service that listens there", async () => {
  const running = start("exchanges", "--port", "0", "--host", "0.0.0.0");
  const url = await running.url();
  const { port } = new URL(url);
  const { code, stderr } = await runHere(["oracle", "--port", port]);
  await running.stop();
  assert.equal(code, 1);
  assert(
    stderr.includes(`127.0.0.1:${port}: a running rangemaker exchanges listens there: `),
    stderr,
  );
  assert.match(stderr, /give the service another port with --port$/);
});

Deno.test("rangemaker: the error of a taken WebSocket port of the proxy names --ws-port", async () => {
  using taken = silentPort();
  const { port } = taken;
  const { code, stderr } = await runHere(["proxy", "--port", "0", "--ws-port", String(port)]);
  assert.equal(code, 1);
  assert(stderr.includes(`Cannot listen on 127.0.0.1:${port}`), stderr);
  assert.match(stderr, /give the service another port with --ws-port$/);
});

const reference = Deno.readTextFileSync(`${root}docs/reference.md`);
const [line = ""] = /^rangemaker\(\) .*$/m.exec(reference) ?? assert.fail("No function");
const checkout = line.replaceAll(/~\/rangemaker\/(\S+)/g, `'${root}$1'`)
  .replace(/\bdeno\b/, `'${Deno.execPath()}'`);

Deno.test("rangemaker() of docs/reference.md: shows help and starts the console from any folder", async () => {
  const [, body = ""] = /\{ (.*) "\$@"; \}$/.exec(checkout) ?? assert.fail(checkout);
  // Tests are started by a task, this is not.
  const script = `unset INIT_CWD\n${checkout}\nrangemaker --help && exec ${body} console --port 0`;
  const program = new Program([], {}, { command: "sh", args: ["-c", script], cwd: "/" });
  await program.url();
  await program.stop();
  assert.match(program.stdout, /^Usage: rangemaker <command>/m);
});

const DESCRIPTORS = 150;

Deno.test("A service out of file descriptors logs that, and serves again when some are free", async () => {
  const line =
    `ulimit -n ${DESCRIPTORS}; exec '${Deno.execPath()}' run -A '${root}main.ts' "$0" "$@"`;
  const program = new Program(["exchanges", "--port", "0"], {}, {
    command: "bash",
    args: ["-c", line],
  });
  const url = await program.url();
  const port = Number(new URL(url).port);
  const attempts = await Promise.allSettled(
    Array.from({ length: DESCRIPTORS }, () => Deno.connect({ hostname: "127.0.0.1", port })),
  );
  await program.until(({ stderr }) => stderr.includes("Listening failed, reopening"));
  for (const attempt of attempts) if (attempt.status === "fulfilled") attempt.value.close();
  await eventually("it serves again", async () => {
    const response = await fetch(`${url}/health`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok;
  });
  await program.stop();
});

const BRIDGE_KEY = { BRIDGE_PRIVATE_KEY: DEV_ACCOUNTS.relayer.privateKey };

/** Runs a task as its user does in another folder: `deno task --config …/deno.json <name>`. */
function startTask(
  name: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Program {
  return new Program([name, ...args], env, {
    command: Deno.execPath(),
    args: ["task", "--quiet", "--config", `${root}deno.json`],
    cwd,
  });
}

Deno.test("Tasks: a relative path of an option starts at the user's folder", () =>
  withFolder(async (folder) => {
    const ports = ["--port", "0", "--read-port", "0"];
    const args = [...ports, "--oracle-url", "127.0.0.1:9", "--data-dir", "node"];
    const program = startTask("node", args, folder);
    await program.url();
    await program.stop();
    assert((await Deno.stat(`${folder}/node/chain.sqlite`)).isFile);
  }));

Deno.test("Without the task: the error of a path without permission is one line with the missing flags", () =>
  withFolder(async (folder) => {
    const program = new Program(["bridge", "--database", `${folder}/x.sqlite`], BRIDGE_KEY, {
      command: Deno.execPath(),
      args: ["run", "--no-prompt", "--allow-env", "--allow-read=data", `${root}main.ts`],
    });
    const { code, stderr } = await program.finished();
    assert.equal(code, 1);
    assert.equal(
      stderr,
      "--database names a path that this process may not use: start it with deno task bridge, " +
        `or add --allow-read=${folder} --allow-write=${folder} to deno run\n`,
    );
  }));

Deno.test("Tasks: a database in a system folder is refused, without the advice --allow-all", async () => {
  const args = ["--port", "0", "--database", "/proc/bridge.sqlite"];
  const { code, stderr } = await startTask("bridge", args, root, BRIDGE_KEY).finished();
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^Requires all access to "\/proc\/bridge.sqlite", which this process lacks: use another file/m,
  );
  assert.doesNotMatch(stderr, /allow-all/);
});

/** Starts a node, and a request to it that never comes to its end. */
async function busyNode(): Promise<{ program: Program; request: Deno.TcpConn }> {
  const ports = ["--port", "0", "--read-port", "0"];
  const program = start("node", ...ports, "--oracle-url", "127.0.0.1:9", "--data-dir", ":memory:");
  const { hostname, port } = new URL(await program.url());
  const request = await Deno.connect({ hostname, port: Number(port) });
  const head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
  const rest = "expect: 100-continue\r\ncontent-length: 100\r\n\r\n";
  await request.write(new TextEncoder().encode(head + rest));
  // The node asks for the body when it starts to answer: from now on the request is pending.
  const answer = new Uint8Array(100);
  const length = await request.read(answer) ?? 0;
  assert.match(new TextDecoder().decode(answer.subarray(0, length)), /^HTTP\/1\.1 100 Continue/);
  return { program, request };
}

Deno.test("Exit code 0: a service stops despite a pending request, and two signals at once count as one", async () => {
  const { program, request } = await busyNode();
  program.kill("SIGINT");
  program.kill("SIGTERM");
  assert.equal((await program.finished()).code, ExitCode.ok);
  request.close();
});

Deno.test("Exit code 0: after its stop, a service waits 0.2 s for a second copy of the signal", async () => {
  const program = start("exchanges", "--port", "0");
  await program.url();
  const signalledMs = performance.now();
  program.kill("SIGINT");
  await program.until(({ stderr }) => stderr.includes("Stopped"));
  program.kill("SIGINT");
  assert.equal((await program.finished()).code, ExitCode.ok);
  assert(performance.now() - signalledMs >= 190, "it has waited for the copy");
});

Deno.test("Exit code 130: a second signal ends a stopping service at once", async () => {
  const { program, request } = await busyNode();
  program.kill("SIGTERM");
  // For half a second, a second signal is treated as a copy of the first.
  const again = setInterval(() => {
    try {
      program.kill("SIGINT");
    } catch {
      clearInterval(again); // the process has ended
    }
  }, 20);
  assert.equal((await program.finished()).code, ExitCode.interrupted);
  clearInterval(again);
  request.close();
});

Deno.test("Exit code 130: Ctrl-C on a command that is not a service", async () => {
  using silent = silentPort();
  const url = `okx=ws://127.0.0.1:${silent.port}`;
  const program = start("doctor", "oracle", "-p", "okx", "--provider-url", url);
  using _connection = await silent.listener.accept();
  program.kill("SIGINT");
  assert.equal((await program.finished()).code, ExitCode.interrupted);
});
