/** Checks of a core node: its JSON-RPC, its WebSocket, and a service's account on it. */
import { z } from "zod";
import { reasonOf } from "../../errors.ts";
import { Backoff } from "../../net/backoff.ts";
import { RpcSubscriber, subscription } from "../../net/rpc_subscriber.ts";
import { CoreClient } from "../../net/core_client.ts";
import { isNodeAway, NodeTimeoutError } from "../../net/core_reader.ts";
import type { Account, Permission } from "../../protocol/account.ts";
import { TIMESTAMP_DRIFT_MAX_MS } from "../../protocol/constants.ts";
import { formatUnits } from "../../protocol/price.ts";
import { optionLabel, type OptionSpec } from "../options.ts";
import { BlockedError, type CheckContext, fail, type Finding, ok, warn } from "./check.ts";

/** Clocks synchronised by NTP differ by less than this, and a live chain makes blocks more often. */
const CLOCK_DIFFERENCE_WARN_MS = 2_000;

/** Checks that the node answers and, if a chain id is configured, that the node has it. */
export async function checkNode(
  url: string,
  option: OptionSpec,
  { timeoutMs }: CheckContext,
  chainId?: number,
): Promise<Finding> {
  let actual: number;
  try {
    actual = await new CoreClient({ url, timeoutMs }).chainId();
  } catch (thrown) {
    if (!isNodeAway(thrown)) throw thrown;
    if (thrown.cause instanceof Deno.errors.NotCapable) throw thrown.cause;
    const text = thrown instanceof NodeTimeoutError
      ? thrown.message
      : `${url} cannot be reached: ${reasonOf(thrown)}`;
    return fail(text, `Start the node, or correct its URL: ${optionLabel(option)}`);
  }
  if (chainId === undefined || actual === chainId) return ok(`${url} has chain ${actual}`);
  return fail(
    `${url} has chain ${actual}: expected ${chainId}`,
    `Use --chain-id ${actual}, or the URL of another node: ${optionLabel(option)}`,
  );
}

/** Checks that the node accepts transactions: a read port accepts only reads. */
export async function checkWrites(
  url: string,
  option: OptionSpec,
  { timeoutMs }: CheckContext,
): Promise<Finding> {
  const isAccepted = await new CoreClient({ url, timeoutMs }).acceptsTransactions().catch(
    blockedIfUnavailable,
  );
  if (isAccepted) return ok(`${url} accepts transactions`);
  return fail(
    `${url} accepts no transactions: it is a read port, or no core node`,
    `Use the URL of the node's write port, or of a proxy: ${optionLabel(option)}`,
  );
}

/** Checks that the service's account has a permission on the node. */
export async function checkPermission(
  permission: Permission,
  url: string,
  context: CheckContext,
): Promise<Finding> {
  const { address, permissions } = await getAccount(url, context);
  if (permissions.includes(permission)) return ok(`${address} is ${permission} on the node`);
  return fail(
    `${address} lacks the ${permission} permission on the node: its transactions would fail`,
    `Use the key of a ${permission}, or add the account to --${permission}s of the node`,
  );
}

/** Checks that the service's account has money on the node. */
export async function checkBalance(url: string, context: CheckContext): Promise<Finding> {
  const { address, balance, locked } = await getAccount(url, context);
  const [free, bound] = [balance, locked].map(formatUnits);
  const text = `${address} has ${free} USDC, and ${bound} USDC in open theses`;
  if (balance > 0n) return ok(text);
  return warn(text, `Deposit USDC for ${address}: until then every thesis is refused`);
}

async function getAccount(url: string, { timeoutMs, signer }: CheckContext): Promise<Account> {
  const { address } = await signer().catch(() => {
    throw new BlockedError("there is no key", "the key");
  });
  return await new CoreClient({ url, timeoutMs }).getAccount(address).catch(blockedIfUnavailable);
}

/** Checks that the clocks of the node and of this machine agree, and that the chain is live. */
export async function checkNodeClock(
  url: string,
  { clock, timeoutMs }: CheckContext,
): Promise<Finding> {
  const head = await new CoreClient({ url, timeoutMs }).getHead().catch(blockedIfUnavailable);
  return clockFinding("the newest block of the node", clock.now() - head.timestampMs);
}

/**
 * Compares two clocks by the age of something just made, such as a block.
 *
 * @param what Name of that thing, such as `the newest block`.
 * @param ageMs Negative if it is in the future.
 */
export function clockFinding(what: string, ageMs: number): Finding {
  const differs = Math.abs(ageMs);
  const text = ageMs < 0
    ? `The clock of this machine is behind: ${what} is ${differs} ms in the future`
    : `${what.charAt(0).toUpperCase()}${what.slice(1)} is ${ageMs} ms old`;
  if (differs <= CLOCK_DIFFERENCE_WARN_MS) return ok(text);
  const remedy = (ageMs < 0 ? "Synchronise" : "See whether new ones arrive; if so, synchronise") +
    " the clocks of both machines (NTP: timedatectl, chronyc tracking)";
  // Beyond the tolerance, the node refuses transactions signed here.
  return differs > TIMESTAMP_DRIFT_MAX_MS ? fail(text, remedy) : warn(text, remedy);
}

function blockedIfUnavailable(thrown: unknown): never {
  if (isNodeAway(thrown)) throw new BlockedError("the node did not answer", "the node");
  throw thrown;
}

/** So long that no second attempt starts: the first failure ends the check. */
const FIXED_WAIT = { initialMs: 60_000, maxMs: 60_000, random: () => 1 };

/** Checks that the WebSocket of a node or a proxy opens and accepts a subscription. */
export async function checkWebSocket(
  url: string,
  option: OptionSpec,
  { clock, timeoutMs }: CheckContext,
): Promise<Finding> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const subscriber = new RpcSubscriber({
    url,
    clock,
    connectTimeoutMs: timeoutMs,
    backoff: new Backoff(FIXED_WAIT),
    subscriptions: [subscription(["newHeads"], z.unknown(), () => {})],
    onLive: () => resolve(undefined),
    onLost: (reason) => resolve(reason),
  });
  const cancel = clock.after(
    timeoutMs,
    () => resolve(`did not accept a subscription within ${timeoutMs} ms`),
  );
  subscriber.start();
  const problem = await promise;
  cancel();
  void subscriber.stop();
  if (problem === undefined) return ok(`${url} accepts subscriptions`);
  const remedy = `Start that service, or correct its URL: ${optionLabel(option)}`;
  return fail(`${url}: ${problem}`, remedy);
}
