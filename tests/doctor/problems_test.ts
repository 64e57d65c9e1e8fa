/** Problems that the doctor reports of one option or service, or of its own permissions. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import config from "../../deno.json" with { type: "json" };
import { Program } from "../support/process.ts";
import { bridgeKey, deadUrl, diagnose, relayer, resultsIn, solverKey } from "./support.ts";

interface Problem {
  argv: string[];
  env?: Record<string, string>;
  subject: string;
  level: "warn" | "fail";
  text: RegExp;
  remedy: RegExp;
}

const problems: Record<string, Problem> = {
  "a node that is down": {
    argv: ["bridge", "--rpc-url", deadUrl()],
    env: bridgeKey,
    subject: "start",
    level: "fail",
    text: /^Core node at http:\/\/127\.0\.0\.1:\d+ cannot be reached: .*[Cc]onnection refused/,
    remedy: /^Remove the cause, and run the doctor again$/,
  },
  "no key": {
    argv: ["bridge"],
    subject: "key",
    level: "fail",
    text: /^Missing key: /,
    remedy: /see rangemaker bridge --help$/,
  },
  "no key, under deno task": {
    argv: ["bridge"],
    env: { INIT_CWD: Deno.cwd() },
    subject: "key",
    level: "fail",
    text: /^Missing key: /,
    remedy: /see deno task bridge --help$/,
  },
  "a publicly known key": {
    argv: ["solver"],
    env: { SOLVER_PRIVATE_KEY: DEV_ACCOUNTS.solver.privateKey },
    subject: "key",
    level: "warn",
    text: /^Signs as 0x3C44.*, the development account solver: its key is publicly known$/,
    remedy: /^Use a key of your own/,
  },
  "a provider that is down": {
    argv: ["oracle", "-p", "okx", "--provider-url", `okx=${deadUrl("ws")}`],
    subject: "okx",
    level: "warn",
    text: /^ws:\S+: No price: okx: not_opened: .* ECONNREFUSED /,
    remedy: /--provider-url okx=/,
  },
  "a hedging service that is down": {
    argv: ["solver", "--hedge-url", `${deadUrl()}/hedge`],
    env: solverKey,
    subject: "hedge",
    level: "fail",
    text: /\/hedge cannot be reached: .*[Cc]onnection refused/,
    remedy: /--hedge-url or RANGEMAKER_SOLVER_HEDGE_URL$/,
  },
  "a remote signer that is down": {
    argv: ["bridge", "--signer-url", deadUrl(), "--signer-address", relayer],
    subject: "signer",
    level: "fail",
    text: /cannot be reached: .*[Cc]onnection refused/,
    remedy: /--signer-url or RANGEMAKER_BRIDGE_SIGNER_URL$/,
  },
  "options that contradict each other": {
    argv: ["proxy", "--read-node-ws-url", "ws://127.0.0.1:1,ws://127.0.0.1:2"],
    subject: "start",
    level: "fail",
    text: /^--read-node-ws-url must have a URL for each of --read-node-url/,
    remedy: /^Remove the cause, and run the doctor again$/,
  },
  "an oracle that is down": {
    argv: ["node", "--oracle-url", deadUrl()],
    subject: "start",
    level: "fail",
    text: /^No fresh price of BTC\/USDT, .* from the oracle at http:.*[Cc]onnection refused/,
    remedy: /^Remove the cause, and run the doctor again$/,
  },
  "a data directory below a file": {
    argv: ["node", "--oracle-url", deadUrl(), "--data-dir", "deno.json/node"],
    subject: "data dir",
    level: "fail",
    text: /^deno\.json is not a folder$/,
    remedy: /--data-dir$/,
  },
  "a store in memory": {
    argv: ["bridge", "--database", ":memory:"],
    env: bridgeKey,
    subject: "store",
    level: "warn",
    text: /is lost with the process/,
    remedy: /--database$/,
  },
  "a chain in memory": {
    argv: ["node", "--data-dir", ":memory:", "--oracle-url", deadUrl()],
    subject: "data dir",
    level: "warn",
    text: /^The chain is lost with the process/,
    remedy: /--data-dir$/,
  },
};

for (const [name, { argv, env, subject, level, text, remedy }] of Object.entries(problems)) {
  Deno.test(`doctor: reports ${name}`, async () => {
    const needsStart = subject === "start" || subject === "okx";
    const { code, checks, of } = await diagnose(argv, env, needsStart ? 1_000 : 500);
    const found = of(subject);
    assert.equal(found.level, level, found.text);
    assert.match(found.text, text);
    assert.match(found.remedy ?? "", remedy);
    assert.equal(code, checks.some(({ level }) => level === "fail") ? 1 : 0);
  });
}

const root = fileURLToPath(new URL("../../", import.meta.url));

async function doctorWith(flags: readonly string[], args: readonly string[]) {
  const keys = ["SOLVER", "BRIDGE", "RANGEMAKER_BACKFILL"].map((owner) => [
    `${owner}_PRIVATE_KEY`,
    `0x${"2".repeat(64)}`,
  ]);
  const program = new Program(["doctor", ...args], Object.fromEntries(keys), {
    command: Deno.execPath(),
    args: ["run", "--no-prompt", ...flags, `${root}main.ts`],
    cwd: root,
  });
  return await program.finished();
}

Deno.test("doctor: names the flags that are missing, which then suffice", async () => {
  const flags = ["--allow-net=127.0.0.1:3000", "--allow-env=CORS_ORIGINS,BRIDGE_PRIVATE_KEY"];
  const { code, stdout, stderr } = await doctorWith(flags, ["bridge"]);
  assert.equal(code, 1, stderr);
  assert.match(
    stdout,
    /^fail {2}bridge {2}permissions {2}This process lacks permissions/,
  );
  const [, remedy = ""] = /^ {6}fix: Start it with (.*)$/m.exec(stdout) ?? [];
  const missing = remedy.split(" ");
  assert.deepEqual(missing, [
    "--allow-net=localhost:8545",
    "--allow-read=data",
    "--allow-write=data",
    "--allow-env=RANGEMAKER_*,KAIZEN_RPC_URL,CHAIN_ID,TRUST_PROXY",
  ]);
  const complete = await doctorWith([...flags, ...missing], ["bridge"]);
  assert.match(complete.stdout, /^ok {4}bridge {2}permissions /);
});

Deno.test("deno task doctor: checks every service with its own flags", async () => {
  const [, flags = ""] = /^deno run --no-prompt (.*) main\.ts/.exec(config.tasks.doctor) ?? [];
  const { stdout, stderr } = await doctorWith(flags.split(" "), ["--timeout-ms", "500"]);
  const permissions = resultsIn(stdout).filter(({ subject }) => subject === "permissions");
  assert.deepEqual(permissions.map(({ level }) => level), Array(6).fill("ok"), stderr);
});
