/** Exit codes of processes that fail or are ended; `command_line_test.ts` has those of wrong usage. */
import assert from "node:assert/strict";
import { ExitCode } from "../../lib/cli/command.ts";
import { Program, runProgram } from "../support/process.ts";
import { denoEnv, lacksTerminal, NEEDS_TERMINAL, Terminal } from "../support/terminal.ts";

const config = new URL("../../deno.json", import.meta.url).pathname;

/** What a terminal turns into SIGINT for every process in its foreground. */
const CTRL_C = "\x03";

/** A port whose connections are accepted and never answered. */
function silentPort() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return { port: (listener.addr as Deno.NetAddr).port, close: () => listener.close() }; // as for TCP
}

/** Starts a node, and a request to it that never comes to its end. */
async function busyNode(): Promise<{ program: Program; request: Deno.TcpConn }> {
  const program = new Program([
    ...["node", "--port", "0", "--read-port", "0", "--oracle-url", "127.0.0.1:9"],
    ...["--data-dir", ":memory:"],
  ]);
  await program.until(({ stderr }) => /Listening on \S+:\d+/.test(stderr));
  const [, port] = /Listening on \S+:(\d+)/.exec(program.stderr) ?? [];
  const request = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  const head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
  const rest = "expect: 100-continue\r\ncontent-length: 100\r\n\r\n";
  await request.write(new TextEncoder().encode(head + rest));
  // The node asks for the body when it starts to answer: from now on the request is pending.
  const answer = new Uint8Array(100);
  const length = await request.read(answer) ?? 0;
  assert.match(new TextDecoder().decode(answer.subarray(0, length)), /^HTTP\/1\.1 100 Continue/);
  return { program, request };
}

Deno.test("Exit code 1: doctor found something that fails", async () => {
  const { port, close } = silentPort();
  const args = ["backfill", "--rpc-url", `http://127.0.0.1:${port}`, "--timeout-ms", "100"];
  assert.equal((await runProgram(["doctor", ...args])).code, ExitCode.failed);
  close();
});

Deno.test("Exit code 0: a service stops despite a pending request, and two signals at once count as one", async () => {
  const { program, request } = await busyNode();
  program.kill("SIGINT");
  program.kill("SIGTERM");
  assert.equal((await program.finished()).code, ExitCode.ok);
  request.close();
});

Deno.test("Exit code 0: after its stop, a service waits 0.2 s for a second copy of the signal", async () => {
  const program = new Program(["exchanges", "--port", "0"]);
  await program.until(({ stderr }) => stderr.includes("Listening on"));
  const signalledMs = performance.now();
  program.kill("SIGINT");
  await program.until(({ stderr }) => stderr.includes("Stopped"));
  program.kill("SIGINT");
  assert.equal((await program.finished()).code, ExitCode.ok);
  assert(performance.now() - signalledMs >= 190, "it has waited for the copy");
});

Deno.test({
  name: `Exit code 0: Ctrl-C on a task, which delivers the signal twice${NEEDS_TERMINAL}`,
  ignore: lacksTerminal,
  async fn() {
    const service = `exec '${Deno.execPath()}' task --config '${config}' exchanges --port 0`;
    const terminal = new Terminal(service, denoEnv());
    await terminal.until(/Listening on \S+:\d+/);
    await terminal.type(CTRL_C);
    const { code, output } = await terminal.finished();
    assert.equal(code, ExitCode.ok, output);
    assert.match(output, /Stopped/);
  },
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
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr; // as for every TCP listener
  const url = `okx=ws://127.0.0.1:${port}`;
  const program = new Program(["doctor", "oracle", "-p", "okx", "--provider-url", url]);
  const connection = await listener.accept();
  program.kill("SIGINT");
  assert.equal((await program.finished()).code, ExitCode.interrupted);
  connection.close();
  listener.close();
});
