import assert from "node:assert/strict";
import { MARKETS, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { isUnsettled } from "../../../lib/protocol/thesis.ts";
import { type ExecutionContext, Ledger } from "../../../services/node/chain/ledger.ts";
import type { VerifiedTransaction } from "../../../services/node/chain/verify.ts";
import { withSeed } from "../../support/random.ts";
import { actors, ETH, hashOf } from "../support/actors.ts";

const NOW = 1_700_000_000_000;
const context: ExecutionContext = {
  blockNumber: 1,
  nowMs: NOW,
  marketOf: ({ base, quote }) => SPEC_MARKETS.find(base, quote),
  isFresh: () => true,
  maxStartAheadMs: 86_400_000,
  breachOf: () => undefined,
  newestSlotMs: NOW,
};
const people: Address[] = [
  actors.user.address,
  actors.solver.address,
  actors.stranger.address,
];

function newLedger(): Ledger {
  return new Ledger({
    balances: new Map([[actors.solver.address, 10_000n]]),
    relayers: [actors.relayer.address],
    admins: [actors.admin.address],
  });
}

/** Judges and applies a transaction, as the chain does. */
function execute(ledger: Ledger, verified: VerifiedTransaction): Receipt {
  const receipt = ledger.judge(verified, context);
  const { tx, quoteHash } = verified;
  ledger.apply({ kind: "transaction", atMs: NOW, tx, receipt, quoteHash });
  return receipt;
}

function verifiedDeposit(number: number, user: Address, amount: bigint): VerifiedTransaction {
  const externalTxHash = hashOf(number);
  return {
    txHash: hashOf(1_000_000 + number),
    tx: {
      ...{ type: "Deposit", timestamp: NOW, from: actors.relayer.address, signature: "0x" },
      ...{ user, amount, externalTxHash },
    },
  };
}

function verifiedRfq(
  number: number,
  parties: { user: Address; solver: Address },
  amounts: { betAmount: bigint; payout: bigint },
): VerifiedTransaction {
  return {
    txHash: hashOf(2_000_000 + number),
    quoteHash: hashOf(number),
    tx: {
      ...{ type: "RfqSubmit", timestamp: NOW, from: parties.solver, signature: "0x" },
      ...{ user: parties.user, thesisType: "box", base: ETH.base, quote: ETH.quote },
      ...{ lowerPrice: 1n, upperPrice: 2n, ...amounts },
      ...{ startTime: NOW, endTime: NOW + 1_000, deadline: NOW },
      ...{ solverSignature: "0x", userSignature: "0x" },
    },
  };
}

Deno.test("Ledger: balances plus open theses equal deposits plus genesis, whatever happens", async () => {
  await withSeed((random) => {
    const ledger = newLedger();
    const below = (bound: number) => Math.floor(random() * bound);
    const anyone = () => people[below(people.length)]!;
    for (let step = 0; step < 5_000; step++) {
      const roll = random();
      const number = below(step + 2);
      if (roll < 0.3) {
        execute(ledger, verifiedDeposit(number, anyone(), BigInt(1 + below(500))));
      } else if (roll < 0.7) {
        const betAmount = BigInt(1 + below(300));
        const amounts = { betAmount, payout: betAmount + BigInt(below(300)) };
        execute(ledger, verifiedRfq(number, { user: anyone(), solver: anyone() }, amounts));
      } else {
        const open = ledger.theses.filter(({ status }) => isUnsettled(status));
        const thesis = open[below(open.length)];
        if (thesis === undefined) continue;
        const outcome = roll < 0.75
          ? { status: "needs_backfill" as const, missing: [{ from: NOW, to: NOW + 100 }] }
          : roll < 0.85
          ? { status: "lost" as const, breach: { time: NOW, price: 3n } }
          : { status: "won" as const };
        ledger.settle(thesis.id, outcome, NOW);
      }
      assert.equal(ledger.holdings, ledger.issued);
      for (const address of people) {
        const { balance, locked } = ledger.account(address);
        assert.ok(balance >= 0n && locked >= 0n, `${address} has ${balance} and ${locked}`);
      }
      const locked = people.reduce((sum, address) => sum + ledger.account(address).locked, 0n);
      const balances = people.reduce((sum, address) => sum + ledger.account(address).balance, 0n);
      assert.equal(balances + locked, ledger.issued);
    }
    assert.ok(ledger.theses.length > 100, "theses were opened");
  });
});

/** A backfill of two slots, the second of which is the newest. */
function verifiedBackfill(from: Address, change: { base?: Address } = {}): VerifiedTransaction {
  return {
    txHash: hashOf(3_000_000),
    tx: {
      ...{ type: "BackfillOracle", timestamp: NOW, from, signature: "0x" },
      ...{ base: ETH.base, quote: ETH.quote, startTime: NOW - 100, prices: [1n, 2n], ...change },
    },
  };
}

Deno.test("Ledger: a transaction keeps its first receipt, whatever would become of it now", () => {
  const ledger = newLedger();
  const good = verifiedDeposit(1, actors.user.address, 100n);
  const bad = verifiedDeposit(1, actors.user.address, 5n);
  for (const verified of [good, { ...bad, txHash: hashOf(5) }]) {
    const receipt = execute(ledger, verified);
    assert.deepEqual(ledger.judge(verified, { ...context, blockNumber: 9 }), receipt);
    assert.equal(ledger.receipt(verified.txHash), receipt);
  }
});

Deno.test("Ledger: strangers leave no record of what failed, members of the chain do", () => {
  const ledger = newLedger();
  const { user, solver, relayer, admin, stranger } = actors;
  const from = ({ tx }: VerifiedTransaction, { address }: { address: Address }) => ({
    ...tx,
    from: address,
  });
  const deposit = verifiedDeposit(1, user.address, 1n);
  const backfill = verifiedBackfill(admin.address);
  const parties = { user: user.address, solver: solver.address };
  const bet = verifiedRfq(1, parties, { betAmount: 1n, payout: 2n });
  const recordedOf = (verified: VerifiedTransaction) =>
    Object.entries({ user, solver, relayer, admin, stranger })
      .filter(([, signer]) => ledger.recordsFailureOf(from(verified, signer)))
      .map(([name]) => name);
  assert.deepEqual(recordedOf(deposit), ["relayer"]);
  assert.deepEqual(recordedOf(backfill), ["admin"]);
  assert.deepEqual(recordedOf(bet), ["solver"]);
  execute(ledger, deposit);
  assert.deepEqual(recordedOf(bet), ["user", "solver"]);
});

Deno.test("Ledger: what was dropped from the journal still counts", () => {
  const ledger = newLedger();
  const { address } = actors.user;
  const dropped = { beforeMs: NOW, lastThesisId: 7, issued: 60n, balances: { [address]: 60n } };
  ledger.applyDropped(dropped);
  ledger.applyDropped({ beforeMs: NOW - 1, lastThesisId: 7, issued: 40n, balances: {} });
  assert.equal(ledger.droppedBeforeMs, NOW);
  assert.equal(ledger.issued, 10_100n);
  assert.equal(ledger.account(address).balance, 60n);
  assert.equal(ledger.lastThesisId, 7);
  const parties = { user: address, solver: actors.solver.address };
  const bet = verifiedRfq(1, parties, { betAmount: 10n, payout: 20n });
  assert.equal(execute(ledger, bet).thesisId, 8);
  assert.equal(ledger.thesis(8)?.txHash, bet.txHash);
  const credited = verifiedDeposit(3, address, 5n);
  assert.ok(credited.tx.type === "Deposit");
  ledger.applyDeposits([hashOf(2), credited.tx.externalTxHash]);
  assert.equal(execute(ledger, credited).error?.code, "DEPOSIT_ALREADY_PROCESSED");
  assert.equal(ledger.account(address).balance, 50n);
});

Deno.test("Ledger: a drop leaves balances, and nothing of its theses and receipts", () => {
  const ledger = newLedger();
  execute(ledger, verifiedDeposit(1, actors.user.address, 100n));
  const parties = { user: actors.user.address, solver: actors.solver.address };
  const bet = verifiedRfq(1, parties, { betAmount: 100n, payout: 110n });
  execute(ledger, bet);
  const won = ledger.settle(1, { status: "won" }, NOW);
  ledger.drop([won], [bet.txHash], NOW);
  ledger.drop([], [], NOW - 1);
  assert.equal(ledger.droppedBeforeMs, NOW);
  assert.deepEqual([ledger.thesis(1), ledger.receipt(bet.txHash)], [undefined, undefined]);
  assert.equal(ledger.lastThesisId, 1);
  assert.equal(ledger.account(actors.user.address).balance, 110n);
  assert.equal(ledger.holdings, ledger.issued);
});

Deno.test("Ledger: theses are found by their ids, whichever of the others were dropped", () => {
  const ledger = newLedger();
  execute(ledger, verifiedDeposit(1, actors.user.address, 100n));
  const parties = { user: actors.user.address, solver: actors.solver.address };
  const bets = Array.from(
    { length: 9 },
    (_, index) => verifiedRfq(index + 1, parties, { betAmount: 1n, payout: 2n }),
  );
  for (const bet of bets) execute(ledger, bet);
  const dropped = [1, 2, 5, 9];
  ledger.drop(dropped.map((id) => ledger.settle(id, { status: "won" }, NOW)), [], NOW);
  for (let id = 0; id <= 10; id++) {
    const isThere = id >= 1 && id <= 9 && !dropped.includes(id);
    assert.equal(ledger.thesis(id)?.id, isThere ? id : undefined);
  }
  assert.deepEqual(ledger.thesesBetween(2, 7).map(({ id }) => id), [3, 4, 6]);
  const again = (number: number) => ({ ...bets[number - 1]!, txHash: hashOf(7_000 + number) });
  assert.equal(ledger.judge(again(3), context).error?.code, "QUOTE_ALREADY_USED");
  assert.equal(ledger.judge(again(5), context).error, undefined, "nothing of it is kept");
});

Deno.test("Ledger: an id is that of the receipt, also where a journal has left ids out", () => {
  const ledger = newLedger();
  execute(ledger, verifiedDeposit(1, actors.user.address, 100n));
  const parties = { user: actors.user.address, solver: actors.solver.address };
  const { tx, txHash, quoteHash } = verifiedRfq(1, parties, { betAmount: 10n, payout: 20n });
  const receipt = { txHash, status: "committed", blockNumber: 1, thesisId: 5 } as const;
  ledger.apply({ kind: "transaction", atMs: NOW, tx, receipt, quoteHash });
  assert.equal(ledger.thesis(5)?.txHash, txHash);
  assert.equal(ledger.lastThesisId, 5);
});

Deno.test("Ledger: slots up to the newest checkpoint can be filled, by an admin, on a market", () => {
  const ledger = newLedger();
  const { address } = actors.admin;
  const codeOf = (verified: VerifiedTransaction, newestSlotMs: number) =>
    ledger.judge(verified, { ...context, newestSlotMs }).error?.code;
  assert.equal(codeOf(verifiedBackfill(address), NOW), undefined);
  assert.equal(codeOf(verifiedBackfill(address), NOW - 1), "INVALID_TIME_RANGE");
  assert.equal(codeOf(verifiedBackfill(actors.relayer.address), NOW), "PERMISSION_DENIED");
  const elsewhere = verifiedBackfill(address, { base: address });
  assert.equal(codeOf(elsewhere, NOW), "UNSUPPORTED_PAIR");
});

Deno.test("Ledger: a thesis is settled once", () => {
  const ledger = newLedger();
  execute(ledger, verifiedDeposit(1, actors.user.address, 100n));
  const parties = { user: actors.user.address, solver: actors.solver.address };
  execute(ledger, verifiedRfq(1, parties, { betAmount: 100n, payout: 110n }));
  ledger.settle(1, { status: "won" }, NOW);
  assert.throws(() => ledger.settle(1, { status: "won" }, NOW), RangeError);
  assert.throws(() => ledger.settle(2, { status: "won" }, NOW), RangeError);
  assert.equal(ledger.account(actors.user.address).balance, 110n);
});

Deno.test("Ledger: a fault of a signature inside is the receipt's error, and nothing else happens", () => {
  const ledger = newLedger();
  const fault = { code: "USER_SIGNATURE_INVALID" as const, message: "by another key" };
  const verified = { ...verifiedDeposit(1, actors.user.address, 1n), fault };
  assert.deepEqual(execute(ledger, verified), {
    txHash: verified.txHash,
    blockNumber: 1,
    status: "failed",
    error: fault,
  });
  assert.equal(ledger.account(actors.user.address).balance, 0n);
});

Deno.test("Ledger: an account that was never used has nothing", () => {
  assert.deepEqual(newLedger().account(actors.stranger.address), {
    address: actors.stranger.address,
    balance: 0n,
    locked: 0n,
    permissions: [],
  });
  assert.deepEqual(newLedger().account(actors.relayer.address).permissions, ["relayer"]);
});

Deno.test("Ledger: a stale market refuses theses on itself only", () => {
  const ledger = newLedger();
  execute(ledger, verifiedDeposit(1, actors.user.address, 100n));
  const staleEth = { ...context, isFresh: (market: unknown) => market !== ETH };
  const parties = { user: actors.user.address, solver: actors.solver.address };
  const onEth = verifiedRfq(1, parties, { betAmount: 1n, payout: 2n });
  assert.equal(ledger.judge(onEth, staleEth).error?.code, "ORACLE_STALE");
  const { base, quote } = MARKETS[0]!;
  assert.ok(onEth.tx.type === "RfqSubmit");
  const onBtc = { ...onEth, tx: { ...onEth.tx, base, quote } };
  assert.equal(ledger.judge(onBtc, staleEth).error, undefined);
});

/** What a bet on this window gets. */
function codeOfWindow(startTime: number, endTime: number): string | undefined {
  const ledger = newLedger();
  execute(ledger, verifiedDeposit(1, actors.user.address, 100n));
  const parties = { user: actors.user.address, solver: actors.solver.address };
  const bet = verifiedRfq(1, parties, { betAmount: 1n, payout: 2n });
  assert.ok(bet.tx.type === "RfqSubmit");
  return execute(ledger, { ...bet, tx: { ...bet.tx, startTime, endTime } }).error?.code;
}

Deno.test("Ledger: a thesis lasts at most 24 hours, needs a slot, and ends in the future", () => {
  const day = 86_400_000;
  assert.equal(codeOfWindow(NOW, NOW + day), undefined);
  assert.equal(codeOfWindow(NOW, NOW + day + 1), "INVALID_TIME_RANGE");
  assert.equal(codeOfWindow(NOW + 1, NOW + 1 + day), undefined);
  assert.equal(codeOfWindow(NOW, NOW + 1), undefined, "the slot at its start");
  assert.equal(codeOfWindow(NOW + 1, NOW + 100), "INVALID_TIME_RANGE");
  assert.equal(codeOfWindow(NOW + 1, NOW + 101), undefined);
  assert.equal(codeOfWindow(NOW - 100, NOW), "INVALID_TIME_RANGE");
  assert.equal(codeOfWindow(NOW - 100, NOW + 1), undefined);
});
