import type { Clock } from "../../lib/clock.ts";
import { RangemakerError } from "../../lib/errors.ts";
import type { NodeReply } from "./node_reply.ts";

/** A way to post messages to a node. */
export interface HttpTransport {
  /**
   * Posts a message once; it is never repeated.
   *
   * @param forwardedFor Value of `X-Forwarded-For`.
   * @throws {ReplyTimeoutError} If the whole answer was not there in time.
   * @throws {Error} Of any kind where no answer came.
   */
  post(text: string, forwardedFor: string): Promise<NodeReply>;
  /** Ends what is under way. */
  stop(): void;
}

/** What an {@link HttpTransport} works with. */
export interface TransportOptions {
  url: URL;
  /** How long the node may take from the request to the end of its answer. */
  timeoutMs: number;
  clock: Clock;
}

/** The node took too long. */
export class ReplyTimeoutError extends RangemakerError {
  constructor(timeoutMs: number) {
    super("NODE_TIMEOUT", `No answer within ${timeoutMs} ms`);
  }
}
