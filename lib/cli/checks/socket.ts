import { z } from "zod";
import { Backoff } from "../../net/backoff.ts";
import { RpcSubscriber, subscription } from "../../net/rpc_subscriber.ts";
import type { OptionSpec } from "../options.ts";
import { type Check, type CheckContext, fail, type Finding, ok, optionLabel } from "./check.ts";

/** The first failure ends the check, so this only keeps the second attempt away. */
const RETRY = { initialMs: 60_000, maxMs: 60_000, random: () => 1 };

/** The WebSocket of a node or a proxy opens, and accepts a subscription. */
export function socketCheck(
  url: string,
  option: OptionSpec,
  { clock, timeoutMs }: CheckContext,
): Check {
  const failed = (reason: string) =>
    fail(
      `${url}: ${reason}`,
      `Start what listens there, or give another URL with ${optionLabel(option)}`,
    );
  return {
    subject: "websocket",
    async run() {
      const { promise, resolve } = Promise.withResolvers<Finding>();
      const subscriber = new RpcSubscriber({
        url,
        clock,
        backoff: new Backoff(RETRY),
        subscriptions: [subscription(["newHeads"], z.unknown(), () => {})],
        onSubscribed: () => resolve(ok(`${url} takes subscriptions`)),
        onLost: (reason) => resolve(failed(reason)),
      });
      const cancel = clock.after(timeoutMs, () => {
        resolve(failed(`did not take a subscription within ${timeoutMs} ms`));
      });
      try {
        subscriber.start();
        return await promise;
      } finally {
        cancel();
        subscriber.stop();
      }
    },
  };
}
