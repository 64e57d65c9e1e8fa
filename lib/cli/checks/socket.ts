import { parseResponse } from "../../protocol/jsonrpc.ts";
import { messageOf } from "../../errors.ts";
import type { OptionSpec } from "../options.ts";
import { type Check, type CheckContext, fail, type Finding, ok, optionLabel } from "./check.ts";

const SUBSCRIBE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "eth_subscribe",
  params: ["newHeads"],
});

/** The WebSocket of a node or a proxy opens, and takes a subscription. */
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
      const ended = Promise.withResolvers<Finding>();
      const closed = Promise.withResolvers<void>();
      const socket = new WebSocket(url);
      socket.onopen = () => socket.send(SUBSCRIBE);
      socket.onmessage = ({ data }) => ended.resolve(findingOf(data, failed, url));
      socket.onerror = (event) => {
        const reason = event instanceof ErrorEvent ? event.message : "cannot be connected to";
        ended.resolve(failed(reason));
      };
      socket.onclose = ({ code }) => {
        ended.resolve(failed(`closed with ${code} before it answered`));
        closed.resolve();
      };
      const cancel = clock.after(timeoutMs, () => {
        ended.resolve(failed(`did not take a subscription within ${timeoutMs} ms`));
        // A peer that never answers does not close either.
        closed.resolve();
      });
      const finding = await ended.promise;
      socket.close();
      await closed.promise;
      cancel();
      return finding;
    },
  };
}

function findingOf(data: unknown, failed: (reason: string) => Finding, url: string): Finding {
  try {
    parseResponse(JSON.parse(String(data)));
    return ok(`${url} takes subscriptions`);
  } catch (thrown) {
    return failed(`refuses a subscription: ${messageOf(thrown)}`);
  }
}
