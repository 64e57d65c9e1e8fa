import type { Clock } from "../../lib/clock.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { hashDepositRequest } from "../../lib/protocol/hashes.ts";
import type { DepositRequest } from "../../lib/protocol/deposit.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import type { RunningService } from "../../lib/http/service.ts";
import { type BridgeOptions, options, startBridge } from "../../services/bridge/mod.ts";
import { FakeNode } from "../support/fake_node.ts";

/** The chain of these tests. */
export const CHAIN_ID = 1337;

/** A user with nothing but a key. */
export const user = new LocalSigner(`0x${"11".repeat(32)}`);

/** The key of the bridge. */
export const relayer = new LocalSigner(DEV_ACCOUNTS.relayer.privateKey);

/** A deposit request as JSON, signed; `nonce` 1 and valid for a minute by default. */
export function signedRequest(
  overrides: Partial<Omit<DepositRequest, "signature">> = {},
  options: { signer?: LocalSigner; chainId?: number } = {},
) {
  const request = {
    user: user.address,
    amount: 25_000_000n,
    nonce: 1n,
    deadline: Date.now() + 60_000,
    ...overrides,
  };
  const digest = hashDepositRequest(request, options.chainId ?? CHAIN_ID);
  return {
    user: request.user,
    amount: request.amount.toString(),
    nonce: request.nonce.toString(),
    deadline: request.deadline,
    signature: (options.signer ?? user).sign(digest),
  };
}

/** Starts a bridge in memory against a node. */
export function startTestBridge(
  rpcUrl: string,
  overrides: Partial<BridgeOptions> = {},
  clock?: Clock,
): Promise<RunningService> {
  return startBridge(
    withDefaults(options, {
      port: 0,
      rpcUrl,
      privateKey: relayer,
      database: ":memory:",
      rateLimit: 0,
      rateLimitTotal: 0,
      ...overrides,
    }),
    clock,
  );
}

/** Runs a test with a fake node and a bridge in memory. */
export async function withBridge(
  test: (bridge: RunningService, node: FakeNode) => Promise<void>,
  { clock, ...overrides }: Partial<BridgeOptions> & { clock?: Clock } = {},
): Promise<void> {
  await using node = FakeNode.start();
  await using bridge = await startTestBridge(node.url, overrides, clock);
  await test(bridge, node);
}
