/** What the doctor reports if its process lacks permissions that the service needs. */
import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };
import { Program } from "../support/process.ts";

const main = new URL("../../main.ts", import.meta.url).pathname;

/** Runs the doctor with the permissions of some flags. */
async function doctorWith(flags: readonly string[], args: readonly string[]) {
  const keys = ["SOLVER", "BRIDGE", "RANGEMAKER_BACKFILL"].map((owner) => [
    `${owner}_PRIVATE_KEY`,
    `0x${"2".repeat(64)}`,
  ]);
  const program = new Program(["doctor", ...args], Object.fromEntries(keys), {
    command: Deno.execPath(),
    args: ["run", "--no-prompt", ...flags, main],
    cwd: new URL("../..", import.meta.url).pathname,
  });
  return await program.finished();
}

/** The flags of a task. */
function flagsOf(task: keyof typeof config.tasks): string[] {
  const [, flags = ""] = /^deno run --no-prompt (.*) main\.ts/.exec(config.tasks[task]) ?? [];
  return flags.split(" ");
}

for (const service of ["bridge", "solver", "proxy", "oracle", "node", "backfill"] as const) {
  Deno.test(`doctor ${service}: has all required permissions with the flags of the task ${service}`, async () => {
    const args = [service, "--timeout-ms", "500"];
    const { stdout, stderr } = await doctorWith(flagsOf(service), args);
    assert.match(stdout, new RegExp(`^ok {4}${service} +permissions +Granted: `, "m"), stderr);
    assert(!stdout.includes("Requires"), stdout);
  });
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
    "--allow-env=RANGEMAKER_*,KAIZEN_RPC_URL,TRUST_PROXY",
  ]);
  // A check that lacks a permission reports that, and the other checks still run.
  assert.match(stdout, /^warn {2}bridge {2}start .*Not tried: .* may not listen on a free port/m);
  assert.match(stdout, /^ok {4}bridge {2}port {9}127\.0\.0\.1:3000 is free|is used/m);
  const complete = await doctorWith([...flags, ...missing], ["bridge"]);
  assert.match(complete.stdout, /^ok {4}bridge {2}permissions /);
});

Deno.test("deno task doctor: checks every service with its own flags", async () => {
  const flags = flagsOf("doctor");
  const { stdout, stderr } = await doctorWith(flags, ["--json", "--timeout-ms", "500"]);
  const { checks } = JSON.parse(stdout) as { checks: { subject: string; level: string }[] };
  const permissions = checks.filter(({ subject }) => subject === "permissions");
  assert.deepEqual(permissions.map(({ level }) => level), Array(6).fill("ok"), stderr);
});
