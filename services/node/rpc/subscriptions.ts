import { RangemakerError } from "../../../lib/errors.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";

/** What can be subscribed to with `eth_subscribe`. */
export const SUBSCRIPTION_KINDS = ["newHeads", "theses", "prices", "transactions"] as const;

/** One of {@link SUBSCRIPTION_KINDS}. */
export type SubscriptionKind = (typeof SUBSCRIPTION_KINDS)[number];

/** Narrows `theses`: each member that is given has to match. */
export interface ThesesFilter {
  user?: Address;
  solver?: Address;
}

/** Subscriptions that one client may have: a proxy holds those of all its clients on one socket. */
export const SUBSCRIPTIONS_PER_CLIENT_MAX = 4_096;

/** The client has {@link SUBSCRIPTIONS_PER_CLIENT_MAX} subscriptions already. */
export class TooManySubscriptionsError extends RangemakerError {
  constructor() {
    super(
      "TOO_MANY_SUBSCRIPTIONS",
      `A client may have ${SUBSCRIPTIONS_PER_CLIENT_MAX} subscriptions`,
    );
  }
}

interface Subscription {
  id: string;
  client: Subscriber;
  filter: ThesesFilter;
}

/** Where notifications of one client go. */
export interface Outlet {
  /** Takes one encoded message; never throws and never waits. */
  send(text: string): void;
}

/** A random id as geth makes them: 16 bytes as hex without leading zeros. */
export function randomSubscriptionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `0x${hex.replace(/^0+(?=.)/, "")}`;
}

/** All subscriptions of the node. It knows no socket: what is published goes to {@link Outlet}s. */
export class Subscriptions {
  readonly #newId: () => string;
  readonly #byKind: ReadonlyMap<SubscriptionKind, Map<string, Subscription>> = new Map(
    SUBSCRIPTION_KINDS.map((kind) => [kind, new Map()]),
  );

  constructor(newId: () => string = randomSubscriptionId) {
    this.#newId = newId;
  }

  /** Subscriptions of a kind that are active. */
  count(kind: SubscriptionKind): number {
    return this.#of(kind).size;
  }

  /** Takes in a client. */
  connect(outlet: Outlet): Subscriber {
    return new Subscriber(outlet, this.#newId, (kind) => this.#of(kind));
  }

  /** Sends an event to everyone subscribed to its kind; it is encoded once, and only if needed. */
  publish(kind: SubscriptionKind, makeResult: () => unknown): void {
    this.#publish(kind, makeResult, () => true);
  }

  /** Sends a thesis to those whose filter it matches. */
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
    let result: string | undefined;
    for (const { id, client, filter } of this.#of(kind).values()) {
      if (!matches(filter)) continue;
      result ??= JSON.stringify(makeResult());
      client.send(
        `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":${result}}}`,
      );
    }
  }

  #of(kind: SubscriptionKind): Map<string, Subscription> {
    const subscriptions = this.#byKind.get(kind);
    if (subscriptions === undefined) throw new TypeError(`No subscriptions of kind ${kind}`);
    return subscriptions;
  }
}

/** The subscriptions of one client. */
export class Subscriber {
  readonly #outlet: Outlet;
  readonly #newId: () => string;
  readonly #of: (kind: SubscriptionKind) => Map<string, Subscription>;
  readonly #kinds = new Map<string, SubscriptionKind>();
  #unannounced: [SubscriptionKind, Subscription][] = [];

  constructor(
    outlet: Outlet,
    newId: () => string,
    of: (kind: SubscriptionKind) => Map<string, Subscription>,
  ) {
    this.#outlet = outlet;
    this.#newId = newId;
    this.#of = of;
  }

  /**
   * Subscribes. Nothing is sent before {@link announce}, so that the id can be told first.
   *
   * @throws {TooManySubscriptionsError}
   */
  subscribe(kind: SubscriptionKind, filter: ThesesFilter = {}): string {
    if (this.#kinds.size >= SUBSCRIPTIONS_PER_CLIENT_MAX) {
      throw new TooManySubscriptionsError();
    }
    const id = this.#newId();
    this.#kinds.set(id, kind);
    this.#unannounced.push([kind, { id, client: this, filter }]);
    return id;
  }

  /** Starts what was subscribed to since the last call: its ids have been told. */
  announce(): void {
    for (const [kind, subscription] of this.#unannounced) {
      // It may have been ended again before it began.
      if (this.#kinds.has(subscription.id)) this.#of(kind).set(subscription.id, subscription);
    }
    this.#unannounced = [];
  }

  /** Ends a subscription. @returns False if the client has none with this id. */
  unsubscribe(id: string): boolean {
    const kind = this.#kinds.get(id);
    if (kind === undefined) return false;
    this.#kinds.delete(id);
    this.#of(kind).delete(id);
    return true;
  }

  /** Ends all subscriptions of the client. */
  disconnect(): void {
    for (const id of [...this.#kinds.keys()]) this.unsubscribe(id);
    this.#unannounced = [];
  }

  /** Sends one encoded message to the client. */
  send(text: string): void {
    this.#outlet.send(text);
  }
}
