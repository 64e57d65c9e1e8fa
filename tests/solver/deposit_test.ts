import assert from "node:assert/strict";
import { ShiftedClock, systemClock } from "../../lib/clock.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { withBridge } from "../bridge/support.ts";
import { runHere } from "../support/command_context.ts";

Deno.test("solver deposit: credits the account of the solver's key once for a nonce, by the clock of the chain", () => {
  const clock = new ShiftedClock(systemClock);
  clock.shift(3_600_000);
  return withBridge(async ({ url }, node) => {
    node.aheadMs = 3_600_000;
    const { address, privateKey } = DEV_ACCOUNTS.solver;
    const options = ["--bridge-url", url, "--amount", "5000000", "--private-key", privateKey];
    const depositing = ["solver", "deposit", ...options];
    const { code, stdout, stderr } = await runHere(depositing, {}, clock);
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`\n5 USDC for ${address}, transaction 0x`));
    const [, nonce = ""] = /^To repeat this .*: (--nonce \d+)\n/.exec(stdout) ?? [];
    const again = await runHere([...depositing, ...nonce.split(" ")], {}, clock);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, /is used by transaction 0x.*: deposit of 5 USDC is committed/);
    const more = depositing.with(depositing.indexOf("5000000"), "6000000");
    const other = await runHere([...more, ...nonce.split(" ")], {}, clock);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /: deposit of 5 USDC is committed/);
    assert.equal(node.credited.get(address), 5_000_000n);
  }, { clock });
});

Deno.test("solver deposit: an amount of 0 is a usage error, before a nonce is printed", async () => {
  const { privateKey } = DEV_ACCOUNTS.solver;
  const options = ["--bridge-url", "http://127.0.0.1:9", "--private-key", privateKey];
  const depositing = ["solver", "deposit", ...options, "--amount", "0"];
  const { code, stdout, stderr } = await runHere(depositing, {}, systemClock);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(
    stderr,
    /^Invalid --amount: Expected an amount of at least 1: received "0"[^\n]*\n?$/,
  );
});
