import { afterInput } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import type { SubscriptionKind } from "../../../lib/protocol/methods/ethereum.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";

/** Filter of `theses`: all members that are set must match. */
interface ThesesFilter {
  user?: Address;
  solver?: Address;
}

/** Most subscriptions per connection, which may be that of a proxy with many clients. */
const SUBSCRIPTIONS_PER_CLIENT_MAX = 4_096;

/**
 * Most messages sent in one turn of the event loop, which takes about 10 ms. When thousands of
 * theses settle at one checkpoint, the rest is sent in later turns, so that sockets are flushed and
 * checkpoints are not late.
 */
export const SENDS_PER_TURN = 1_000;

/** Most messages that wait for a later turn. With more, all are sent at once, to bound memory. */
export const SENDS_WAITING_MAX = 500_000;

interface PendingEvent {
  result: string;
  kind: SubscriptionKind;
  targets: readonly Subscription[];
  /** Index of the next target. */
  next: number;
}

interface Subscription {
  id: string;
  kind: SubscriptionKind;
  client: Subscriber;
  filter: ThesesFilter;
}

/** The active subscriptions of each kind, by id. */
type ActiveSubscriptions = Readonly<Record<SubscriptionKind, Map<string, Subscription>>>;

/** Sends one encoded message to a client; never throws and never waits. */
type Send = (text: string) => void;

/** A random id in geth's format: 16 bytes as hex without leading zeros. */
function randomSubscriptionId(): string {
  const hex = crypto.getRandomValues(new Uint8Array(16)).toHex();
  return `0x${hex.replace(/^0+(?=.)/, "")}`;
}

/** All subscriptions of the node. It uses no sockets. */
export class Subscriptions {
  readonly #active: ActiveSubscriptions = {
    newHeads: new Map(),
    theses: new Map(),
    prices: new Map(),
    transactions: new Map(),
  };
  /** Events that some subscribers have not been sent yet, in order. */
  readonly #pending = new Set<PendingEvent>();
  readonly #nextTurn: typeof afterInput;
  #sentInTurn = 0;
  /** Unsent messages of {@link #pending}. */
  #waiting = 0;
  /** Set while events wait for the next turn. */
  #cancelTurn: (() => void) | undefined;

  /** The parameter is for tests: turns that the test begins. */
  constructor(nextTurn = afterInput) {
    this.#nextTurn = nextTurn;
  }

  count(kind: SubscriptionKind): number {
    return this.#active[kind].size;
  }

  connect(send: Send): Subscriber {
    return new Subscriber(send, this.#active);
  }

  /** Sends an event to all subscribers of its kind, encoded once. */
  publish(kind: SubscriptionKind, makeResult: () => unknown): void {
    this.#publish(kind, makeResult, () => true);
  }

  /** Sends a thesis to the subscribers whose filter it matches. */
  publishThesis(parties: Required<ThesesFilter>, makeResult: () => unknown): void {
    this.#publish(
      "theses",
      makeResult,
      ({ user, solver }) =>
        (user === undefined || user === parties.user) &&
        (solver === undefined || solver === parties.solver),
    );
  }

  #publish(
    kind: SubscriptionKind,
    makeResult: () => unknown,
    matches: (filter: ThesesFilter) => boolean,
  ): void {
    const targets = [...this.#active[kind].values()].filter(({ filter }) => matches(filter));
    if (targets.length === 0) return;
    this.#pending.add({ kind, result: JSON.stringify(makeResult()), targets, next: 0 });
    this.#waiting += targets.length;
    if (this.#waiting > SENDS_WAITING_MAX) this.#send(Infinity);
    else if (this.#cancelTurn === undefined) this.#send();
  }

  #send(max = SENDS_PER_TURN): void {
    // The budget is new after everything that this turn announces.
    if (this.#sentInTurn === 0) queueMicrotask(() => this.#sentInTurn = 0);
    for (const event of this.#pending) {
      for (; event.next < event.targets.length; event.next += 1) {
        if (this.#sentInTurn >= max) return this.#continueLater();
        this.#waiting -= 1;
        this.#sendTo(event.targets[event.next]!, event); // the index is below the length
      }
      this.#pending.delete(event);
    }
  }

  #sendTo({ id, client }: Subscription, { kind, result }: PendingEvent): void {
    if (!this.#active[kind].has(id)) return; // the subscription has ended meanwhile
    this.#sentInTurn += 1;
    client.send(
      `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":${result}}}`,
    );
  }

  #continueLater(): void {
    this.#cancelTurn = this.#nextTurn(() => {
      this.#cancelTurn = undefined;
      this.#sentInTurn = 0;
      this.#send();
    });
  }

  /** Discards waiting messages. */
  stop(): void {
    this.#cancelTurn?.();
    this.#pending.clear();
    this.#waiting = 0;
  }
}

/** What the calls of a client may do. */
export type ClientSubscriptions = Pick<Subscriber, "subscribe" | "unsubscribe">;

export class Subscriber {
  readonly send: Send;
  readonly #active: ActiveSubscriptions;
  readonly #subscriptions = new Map<string, Subscription>();
  #isDisconnected = false;

  constructor(send: Send, active: ActiveSubscriptions) {
    this.send = send;
    this.#active = active;
  }

  /**
   * Subscribes. Nothing is sent before {@link activate}, so that the client receives the id first.
   * A client that has disconnected while its last calls still run gets an id, but no notifications.
   *
   * @throws {RangemakerError} `TOO_MANY_SUBSCRIPTIONS` beyond {@link SUBSCRIPTIONS_PER_CLIENT_MAX}.
   */
  subscribe(kind: SubscriptionKind, filter: ThesesFilter = {}): string {
    if (this.#subscriptions.size >= SUBSCRIPTIONS_PER_CLIENT_MAX) {
      throw new RangemakerError(
        "TOO_MANY_SUBSCRIPTIONS",
        `A connection may have ${SUBSCRIPTIONS_PER_CLIENT_MAX} subscriptions: end some first`,
      );
    }
    const id = randomSubscriptionId();
    if (!this.#isDisconnected) this.#subscriptions.set(id, { id, kind, client: this, filter });
    return id;
  }

  /** Activates subscriptions whose ids were sent, except those that have ended meanwhile. */
  activate(ids: readonly string[]): void {
    for (const id of ids) {
      const subscription = this.#subscriptions.get(id);
      if (subscription !== undefined) this.#active[subscription.kind].set(id, subscription);
    }
  }

  /** Ends a subscription. @returns False if the client has none with this id. */
  unsubscribe(id: string): boolean {
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return false;
    this.#subscriptions.delete(id);
    this.#active[subscription.kind].delete(id);
    return true;
  }

  /** Ends all subscriptions of the client; it can make no others. */
  disconnect(): void {
    this.#isDisconnected = true;
    for (const id of this.#subscriptions.keys()) this.unsubscribe(id);
  }
}
