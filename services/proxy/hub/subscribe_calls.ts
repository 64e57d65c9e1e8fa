import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { memberText } from "../../../lib/json_text.ts";
import type { HubSubscription } from "./subscriptions.ts";

/** The hub's side of the connection to the node. */
export interface UpstreamPort {
  /** Sends a frame. @returns False if there is no connection. */
  send(text: string): boolean;
  /** Closes the present connection as faulty. */
  drop(reason: string): void;
}

/** The node's answer to a subscribe: its id, or the JSON text of its error. */
type SubscribeAnswer =
  & { subscription: HubSubscription }
  & ({ upstreamId: string } | { errorText: string });

interface PendingCall {
  namespace: string;
  /** Undefined after it timed out: a subscription granted late is ended at once. */
  subscription: HubSubscription | undefined;
  sentAtMs: number;
}

/** Most timed-out calls that may still be answered; with more, the connection counts as faulty. */
const TIMED_OUT_MAX = 256;

/** Most unknown subscription ids kept for one sweep; more are ignored. */
const UNKNOWN_IDS_MAX = 256;

/** The hub's subscribe and unsubscribe calls on one connection to the node. */
export class SubscribeCalls {
  readonly #upstream: UpstreamPort | undefined;
  readonly #pending = new Map<number, PendingCall>();
  #lastId = 0;
  #timedOut = 0;
  /** The newest subscribe that was answered, now and when {@link giveUp} last saw progress. */
  #answeredId = 0;
  #progress = { id: 0, atMs: -Infinity };
  /** Unknown ids of notifications since the last sweep, and before it, with their namespace. */
  #unknownIds = new Map<string, string>();
  #unknownBefore = new Map<string, string>();

  /** @param upstream Undefined while there is no connection. */
  constructor(upstream?: UpstreamPort) {
    this.#upstream = upstream;
  }

  /** Calls without an answer. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Subscriptions that the node has never granted and is asked for now. */
  get neverGranted(): HubSubscription[] {
    return [...this.#pending.values()].flatMap(({ subscription }) =>
      subscription !== undefined && subscription.publicId === undefined ? [subscription] : []
    );
  }

  /** Requests a subscription; does nothing while there is no connection. */
  subscribe(subscription: HubSubscription, nowMs: number): void {
    const { namespace, paramsText } = subscription.request;
    const id = this.#call(`${namespace}_subscribe`, paramsText);
    if (id === undefined) return;
    subscription.state = { kind: "requested" };
    this.#pending.set(id, { namespace, subscription, sentAtMs: nowMs });
  }

  /** Ends a subscription at the node. Nothing depends on the answer. */
  unsubscribe(namespace: string, upstreamId: string): void {
    this.#call(`${namespace}_unsubscribe`, JSON.stringify([upstreamId]));
  }

  /** Handles an answer of the node. @returns Undefined if nobody waits for it. */
  onAnswer(id: number, text: string): SubscribeAnswer | undefined {
    const call = this.#pending.get(id);
    if (call === undefined) return undefined;
    this.#pending.delete(id);
    this.#answeredId = Math.max(this.#answeredId, id);
    const upstreamId = resultId(text);
    const { namespace, subscription } = call;
    if (subscription === undefined) {
      this.#timedOut -= 1;
      if (upstreamId !== undefined) this.unsubscribe(namespace, upstreamId);
      return undefined;
    }
    subscription.state = { kind: "notRequested" };
    return upstreamId === undefined
      ? { subscription, errorText: errorOf(text) }
      : { subscription, upstreamId };
  }

  /**
   * Gives up calls that got no answer in time, unless the node is still at work on those before
   * them: it may need long for thousands after a reconnect, and would be asked for all of them again.
   *
   * @returns Their subscriptions.
   */
  giveUp(nowMs: number, timeoutMs: number): HubSubscription[] {
    if (this.#answeredId > this.#progress.id) {
      this.#progress = { id: this.#answeredId, atMs: nowMs };
    }
    const beforeMs = nowMs - timeoutMs;
    const isAtWork = this.#progress.atMs > beforeMs;
    const late: HubSubscription[] = [];
    for (const [id, call] of this.#pending) {
      const isLate = call.sentAtMs <= beforeMs && !(isAtWork && id > this.#answeredId);
      if (call.subscription === undefined || !isLate) continue;
      call.subscription.state = { kind: "notRequested" };
      late.push(call.subscription);
      call.subscription = undefined;
    }
    this.#timedOut += late.length;
    if (this.#timedOut > TIMED_OUT_MAX) {
      this.#upstream?.drop(`${this.#timedOut} subscribe requests left unanswered`);
    }
    return late;
  }

  /**
   * Records a notification of an unknown subscription. A few arrive after an unsubscribe. An id
   * that continues for two sweeps is a subscription whose answer was lost.
   *
   * @param method Of the notification: `eth_subscription`.
   */
  onUnknownNotification(upstreamId: string, method: string): void {
    if (this.#unknownIds.size >= UNKNOWN_IDS_MAX) return;
    this.#unknownIds.set(upstreamId, method.replace(/_subscription$/, ""));
  }

  /** Ends unknown subscriptions that sent notifications both before and after the last sweep. */
  endUnknown(isKnown: (upstreamId: string) => boolean): void {
    // While an answer is pending, an unknown id may be the one in that answer.
    const isAwaited = this.#pending.size > this.#timedOut;
    for (const [id, namespace] of isAwaited ? [] : this.#unknownIds) {
      if (this.#unknownBefore.has(id) && !isKnown(id)) this.unsubscribe(namespace, id);
    }
    this.#unknownBefore = this.#unknownIds;
    this.#unknownIds = new Map();
  }

  #call(method: string, paramsText: string): number | undefined {
    const id = this.#lastId += 1;
    const name = JSON.stringify(method);
    const text = `{"jsonrpc":"2.0","id":${id},"method":${name},"params":${paramsText}}`;
    return this.#upstream?.send(text) ? id : undefined;
  }
}

function resultId(text: string): string | undefined {
  const result: unknown = JSON.parse(memberText(text, "result") ?? "null");
  return typeof result === "string" ? result : undefined;
}

function errorOf(text: string): string {
  return memberText(text, "error") ??
    internalErrorText("The node answered a subscribe with neither an id nor an error");
}

/** The JSON text of an internal error, for a node that broke the protocol. */
export function internalErrorText(message: string): string {
  return JSON.stringify({ code: RpcCode.internalError, message });
}
