/** Checks of the core node that a service is told to use. */
import { formatUnits } from "viem/utils";
import { CoreClient, NodeTimeoutError, NodeUnreachableError } from "../../net/core_client.ts";
import type { Account, Permission } from "../../protocol/account.ts";
import { PRICE_DECIMALS } from "../../protocol/markets.ts";
import type { Address } from "../../protocol/scalars.ts";
import type { OptionSpec } from "../options.ts";
import { reasonOf } from "../../errors.ts";
import type { KeySource } from "./key.ts";
import {
  type Check,
  type CheckContext,
  fail,
  type Finding,
  ok,
  optionLabel,
  warn,
} from "./check.ts";

/** The node refuses transactions whose timestamp is further than this from its clock. */
const TIMESTAMP_TOLERANCE_MS = 60_000;

/** Clocks of machines that are kept in time differ by less; a chain that goes on has a younger head. */
const CLOCK_DIFFERENCE_MAX_MS = 2_000;

/** A node, and the option that says where it is. */
export interface NodeTarget {
  url: string;
  option: OptionSpec;
}

/** The node answers, and is of the chain that signatures are made for, where one is given. */
export function nodeCheck(
  subject: string,
  { url, option }: NodeTarget,
  { timeoutMs }: CheckContext,
  chainId?: number,
): Check {
  return {
    subject,
    async run() {
      const client = new CoreClient({ url, timeoutMs });
      let actual: number;
      try {
        actual = await client.chainId();
      } catch (thrown) {
        if (!isAway(thrown)) throw thrown;
        if (thrown.cause instanceof Deno.errors.NotCapable) throw thrown.cause;
        const text = thrown instanceof NodeTimeoutError
          ? thrown.message
          : `${url} cannot be reached: ${reasonOf(thrown)}`;
        return fail(text, `Start the node, or give its URL with ${optionLabel(option)}`);
      }
      if (chainId === undefined || actual === chainId) return ok(`${url} is of chain ${actual}`);
      return fail(
        `${url} is of chain ${actual}: expected ${chainId}`,
        `Give --chain-id ${actual}, or the URL of another node with ${optionLabel(option)}`,
      );
    },
  };
}

/** The node knows the account of a key with a permission. */
export function permissionOnNodeCheck(
  permission: Permission,
  signer: KeySource,
  target: NodeTarget,
  context: CheckContext,
): Check {
  return accountCheck(permission, signer, target, context, ({ address, permissions }) => {
    if (permissions.includes(permission)) return ok(`${address} is ${permission} on the node`);
    return fail(
      `${address} is no ${permission} on the node: its transactions would fail`,
      `Give the key of a ${permission}, or make it one when the chain is made: ` +
        `--${permission}s of the node, or [genesis] of its settings file`,
    );
  });
}

/** The account of a key has money on the node. */
export function balanceCheck(
  signer: KeySource,
  target: NodeTarget,
  context: CheckContext,
): Check {
  return accountCheck("balance", signer, target, context, ({ address, balance, locked }) => {
    const [free, bound] = [balance, locked].map((amount) => formatUnits(amount, PRICE_DECIMALS));
    const text = `${address} has ${free} USDC, and ${bound} in open theses`;
    if (balance > 0n) return ok(text);
    return warn(text, `Deposit USDC for ${address}: until then every thesis is refused`);
  });
}

function accountCheck(
  subject: string,
  signer: KeySource,
  { url }: NodeTarget,
  { timeoutMs }: CheckContext,
  judge: (account: Account) => Finding,
): Check {
  return {
    subject,
    async run() {
      let address: Address;
      try {
        ({ address } = await signer());
      } catch {
        // What is wrong with the key is what its own check tells.
        return warn("Not known: there is no key to ask for", "Mend the key first");
      }
      const client = new CoreClient({ url, timeoutMs });
      return await unlessAway(async () => judge(await client.getAccount(address)));
    },
  };
}

/** The clocks of the node and of this machine agree, and the chain goes on. */
export function nodeClockCheck({ url }: NodeTarget, { clock, timeoutMs }: CheckContext): Check {
  return {
    subject: "clock",
    run: () =>
      unlessAway(async () => {
        const { timestampMs } = await new CoreClient({ url, timeoutMs }).getHead();
        return judgeClocks("the newest block of the node", clock.now() - timestampMs);
      }),
  };
}

/**
 * What an age says of two clocks.
 *
 * @param what Whose age it is, such as `the newest block`.
 * @param ageMs Negative where it lies in the future.
 */
export function judgeClocks(what: string, ageMs: number): Finding {
  const differs = Math.abs(ageMs);
  const text = ageMs < 0
    ? `The clock here is behind: ${what} is ${differs} ms in the future`
    : `${what.charAt(0).toUpperCase()}${what.slice(1)} is ${ageMs} ms old`;
  if (differs <= CLOCK_DIFFERENCE_MAX_MS) return ok(text);
  const remedy = ageMs < 0
    ? "Keep both machines in time (NTP: timedatectl, chronyc tracking)"
    : "See whether it goes on; if so, keep both machines in time (NTP: timedatectl, chronyc tracking)";
  // Beyond that, the node refuses what is signed here.
  return differs > TIMESTAMP_TOLERANCE_MS ? fail(text, remedy) : warn(text, remedy);
}

/** A finding that needs the node: where that is away, its own check says so. */
async function unlessAway(find: () => Promise<Finding>): Promise<Finding> {
  try {
    return await find();
  } catch (thrown) {
    if (!isAway(thrown)) throw thrown;
    return warn("Not known: the node did not answer", "Mend the node first");
  }
}

function isAway(thrown: unknown): thrown is NodeUnreachableError | NodeTimeoutError {
  return thrown instanceof NodeUnreachableError || thrown instanceof NodeTimeoutError;
}
