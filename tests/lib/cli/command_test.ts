import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import {
  type CommandEntries,
  createCommand,
  createServiceCommand,
  ExitCode,
  loadCommand,
  type RunnableCommand,
} from "../../../lib/cli/command.ts";
import { UsageError } from "../../../lib/cli/options.ts";
import type { RunningService } from "../../../lib/http/service.ts";
import { options as bridgeOptions } from "../../../services/bridge/options.ts";
import { recordedContext } from "../../support/command_context.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withFile } from "../../support/files.ts";

const STOP_DEADLINE_MS = 9_000;

function runWith(run: RunnableCommand, ...argv: string[]) {
  return runIn({}, run, ...argv);
}

async function runIn(env: Record<string, string>, run: RunnableCommand, ...argv: string[]) {
  const { context, printed: lines, errors } = recordedContext(env);
  return { code: await run(argv, context), lines, errors };
}

function commandThat(name: string, act: () => Promise<number>, subcommands: CommandEntries = {}) {
  return createCommand({
    name,
    description: `Does what ${name} does.`,
    options: {},
    examples: [[`rangemaker ${name} child`, "the one below"]],
    subcommands,
    run: act,
  });
}

const child = commandThat("parent child", () => Promise.resolve(7));
const parent = commandThat("parent", () => Promise.resolve(3), {
  child: { summary: "the one below", load: () => Promise.resolve({ run: child }) },
});

Deno.test("createCommand: the first argument selects a subcommand; with options only, the command itself runs", async () => {
  assert.equal((await runWith(parent)).code, 3);
  assert.equal((await runWith(parent, "child")).code, 7);
  assert.equal((await runWith(parent, "--log-level", "error")).code, 3);
});

Deno.test("createCommand: with JSON logs, errors are JSON lines, whether the options are valid or not", async () => {
  const failing = commandThat(
    "bridge",
    () => Promise.reject(new RangemakerError("STORE_UNAVAILABLE", "Password is wrong")),
  );
  const json = { RANGEMAKER_JSON_LOGS: "true" };
  const wrongOption = "Unknown option '--x'. See rangemaker bridge --help";
  await withFile("json_logs = true\n", async (settings) => {
    const cases = [
      [{}, ["--json-logs"], 1, "Password is wrong"],
      [{ RANGEMAKER_CONFIG: settings }, [], 1, "Password is wrong"],
      [json, [], 1, "Password is wrong"],
      [json, ["--x"], 2, wrongOption],
      [{}, ["--x", "--json-logs"], 2, wrongOption],
    ] as const;
    for (const [env, argv, code, message] of cases) {
      const result = await runIn(env, failing, ...argv);
      const [{ "@timestamp": time, ...line }] = result.errors.map((error) => JSON.parse(error));
      assert.match(time, /^\d{4}-/);
      assert.deepEqual([result.code, line], [code, {
        level: "ERROR",
        message,
        logger: "rangemaker.bridge",
        event: "failed",
      }]);
    }
  });
  assert.deepEqual((await runIn({}, failing)).errors, ["Password is wrong"]);
});

Deno.test("unknownCommand: a command without a close name is answered with all names", async () => {
  const { errors } = await runWith(parent, "xyz");
  assert.deepEqual(errors, ["Unknown command 'xyz': expected child. See rangemaker parent --help"]);
});

Deno.test("createCommand: a missing permission is one line, with the task to use", async () => {
  const advice = 'Requires write access to "x", run again with the --allow-write flag';
  const { code, errors } = await runWith(
    commandThat("writer", () => Promise.reject(new Deno.errors.NotCapable(advice))),
  );
  assert.equal(code, ExitCode.failed);
  assert.deepEqual(errors, [
    'Requires write access to "x", which this process lacks: ' +
    "use another file or address, or deno task writer",
  ]);
});

Deno.test("createCommand: under deno task, help and errors show commands as deno task …", async () => {
  const task = { INIT_CWD: "/" };
  const { errors } = await runIn(task, parent, "--wrong");
  assert.match(errors.join(), /\. See deno task parent --help$/);
  const { lines: [help = ""] } = await runIn(task, parent, "--help");
  assert.match(help, /^Usage: deno task parent \[command\]/);
  assert.match(help, /^ {2}deno task parent child\n/m);
  assert.match(help, /\(deno task parent <command>\)/);
});

Deno.test("createCommand: an expected error is one line without passwords and exit code 1, a bug is thrown", async () => {
  const fails = commandThat("fails", () => Promise.reject(new RangemakerError("X", "It is so")));
  assert.deepEqual(await runWith(fails), { code: 1, lines: [], errors: ["It is so"] });
  const quotes = new RangemakerError("X", "Cannot listen on http://me:secret@host:3000");
  const { errors } = await runWith(commandThat("quotes", () => Promise.reject(quotes)));
  assert.deepEqual(errors, ["Cannot listen on http://…@host:3000"]);
  const bug = commandThat("bug", () => Promise.reject(new TypeError("oops")));
  await assert.rejects(runWith(bug), TypeError);
});

Deno.test("loadCommand: names inherited from Object.prototype are unknown commands", async () => {
  await assert.rejects(loadCommand({}, "constructor"), UsageError);
  await assert.rejects(
    loadCommand({ a: { summary: "", load: () => Promise.reject() } }, "toString"),
    UsageError,
  );
});

Deno.test("createServiceCommand: a signal ends a service that still waits to start, in a second and without an error", async () => {
  const signal = Promise.withResolvers<void>();
  const { promise: never } = Promise.withResolvers<RunningService>();
  const text = { name: "waiting", description: "", examples: [], options: {} };
  const run = createServiceCommand(text, () => {
    signal.resolve();
    return never;
  });
  const clock = new FakeClock();
  const { context, errors } = recordedContext();
  const ended = run([], { ...context, clock, untilSignal: () => signal.promise });
  await clock.untilScheduled();
  clock.advance(1_000);
  assert.equal(await ended, ExitCode.ok);
  assert.deepEqual(errors, []);
});

Deno.test("createServiceCommand: a service that does not stop is cut off after 9 s, with exit code 1", async () => {
  const text = { name: "busy", description: "", examples: [], options: {} };
  const stop = () => new Promise<void>(() => {});
  const run = createServiceCommand(
    text,
    () => Promise.resolve({ url: "", stop, [Symbol.asyncDispose]: stop }),
  );
  const clock = new FakeClock();
  const { context, errors } = recordedContext();
  const ended = run([], { ...context, clock, untilSignal: () => Promise.resolve() });
  await clock.untilScheduled();
  clock.advance(STOP_DEADLINE_MS);
  assert.equal(await ended, ExitCode.failed);
  assert.deepEqual(errors, [`Not stopped within ${STOP_DEADLINE_MS} ms: open work is cut off`]);
});

Deno.test("createCommand: keys and passwords leave the environment once they are parsed", async () => {
  const env: Record<string, string> = {
    BRIDGE_PRIVATE_KEY: `0x${"11".repeat(32)}`,
    PGPASSWORD: "hunter2",
    RANGEMAKER_CHAIN_ID: "7",
    RANGEMAKER_BRIDGE_DATABASE: "postgres://user@host/name",
  };
  const seen: unknown[] = [];
  const run = createCommand({
    name: "keys",
    description: "",
    options: bridgeOptions,
    examples: [],
    run: (options) => {
      seen.push({ ...env }, options.database, options.chainId);
      return Promise.resolve(0);
    },
  });
  assert.equal((await runIn(env, run)).code, 0);
  assert.deepEqual(seen, [{ RANGEMAKER_CHAIN_ID: "7" }, "postgres://user:hunter2@host/name", 7]);
});
