import { type HubClient, HubSubscription, ListMap } from "./subscriptions.ts";
import { internalErrorText, SubscribeCalls, type UpstreamPort } from "./subscribe_calls.ts";
import { SubscriptionLimits, type SubscriptionRefusal } from "./subscription_limits.ts";
import { ALL_THESES, type SubscriptionRequest } from "./subscription_request.ts";

interface SubscriptionTableOptions {
  /** How long the node may take to answer a subscribe. */
  subscribeTimeoutMs: number;
  /** Most subscriptions at the node, not counting the shared feeds. */
  maxSubscriptions: number;
  /** Ends a subscription, so that another caller gets its slot. */
  evict: (subscription: HubSubscription) => void;
}

/** The subscriptions at the node, granted or requested, and their ids. */
export class SubscriptionTable {
  readonly #options: SubscriptionTableOptions;
  readonly #byKey = new ListMap<HubSubscription>();
  readonly #byUpstreamId = new Map<string, HubSubscription>();
  readonly #publicIds = new Set<string>();
  /** Calls to the node on the present connection. */
  calls = new SubscribeCalls();
  readonly #limits: SubscriptionLimits;

  constructor(options: SubscriptionTableOptions) {
    this.#options = options;
    this.#limits = new SubscriptionLimits(options.maxSubscriptions, options.evict);
  }

  /** How many are at the node, or requested. */
  get count(): number {
    let count = 0;
    for (const { state } of this.subscriptions()) if (state.kind !== "filtered") count += 1;
    return count;
  }

  /** Subscriptions of clients: each of them uses one of the table's. */
  get memberCount(): number {
    let count = 0;
    for (const { members } of this.subscriptions()) count += members.size;
    return count;
  }

  subscriptions(): IterableIterator<HubSubscription> {
    return this.#byKey.all();
  }

  /** Entries of every map, for tests of leaks. */
  get size(): { subscriptions: number; upstreamIds: number; publicIds: number; requests: number } {
    return {
      subscriptions: [...this.subscriptions()].length,
      upstreamIds: this.#byUpstreamId.size,
      publicIds: this.#publicIds.size,
      requests: this.calls.pending,
    };
  }

  /**
   * The subscription for a client: a shared one, unless this client already uses that one.
   *
   * @returns The reason to refuse a new one, if it is refused.
   */
  obtain(
    request: SubscriptionRequest,
    client: HubClient,
    nowMs: number,
  ): HubSubscription | SubscriptionRefusal {
    const equal = this.#byKey.valuesOf(request.key);
    const open = equal.filter((subscription) => !subscription.involves(client));
    const shared = open.find(({ isLive }) => isLive) ?? open[0];
    if (shared !== undefined) return shared;
    const { key, thesisFilter } = request;
    // May end another subscription, and with it the one to all theses.
    const refused = this.#limits.makeRoom(request, client, { copies: equal.length, nowMs });
    if (refused !== undefined) return refused;
    const subscription = thesisFilter === undefined
      ? new HubSubscription(request, client)
      : this.#filtered(request, client, thesisFilter);
    this.#limits.slotsOf(request)?.add(subscription);
    this.#byKey.add(key, subscription);
    return subscription;
  }

  #filtered(request: SubscriptionRequest, client: HubClient, filter: string): HubSubscription {
    const source = this.#allTheses(client);
    const subscription = new HubSubscription(request, client, { kind: "filtered", source, filter });
    source.filtered.add(filter, subscription);
    this.#setPublicId(subscription, randomId());
    return subscription;
  }

  /** The subscription from which the hub filters theses; a new one if there is none. */
  #allTheses(client: HubClient): HubSubscription {
    const [existing] = this.#byKey.valuesOf(ALL_THESES.key);
    if (existing !== undefined) return existing;
    const source = new HubSubscription(ALL_THESES, client);
    this.#byKey.add(ALL_THESES.key, source);
    return source;
  }

  findByUpstreamId(id: string): HubSubscription | undefined {
    return this.#byUpstreamId.get(id);
  }

  isLive(key: string): boolean {
    return this.#byKey.valuesOf(key).some(({ isLive }) => isLive);
  }

  /** Requests a subscription from the node, unless it is already requested or granted. */
  requestAtNode({ atNode }: HubSubscription, nowMs: number): void {
    if (atNode.state.kind === "notRequested") this.calls.subscribe(atNode, nowMs);
  }

  /** Ends a subscription that nobody uses; a requested one ends with the node's answer. */
  retire(subscription: HubSubscription): void {
    const { request, state } = subscription;
    if (!subscription.isIdle) return this.#limits.slotsOf(request)?.handOver(subscription);
    if (state.kind === "requested") return;
    if (state.kind === "granted") {
      this.#byUpstreamId.delete(state.upstreamId);
      this.calls.unsubscribe(request.namespace, state.upstreamId);
      subscription.state = { kind: "notRequested" };
    }
    this.#forget(subscription);
    if (state.kind !== "filtered") return;
    state.source.filtered.delete(state.filter, subscription);
    this.retire(state.source);
  }

  /** A connection is open: every subscription is requested again. */
  onOpened(upstream: UpstreamPort, nowMs: number): void {
    this.calls = new SubscribeCalls(upstream);
    for (const subscription of this.subscriptions()) this.requestAtNode(subscription, nowMs);
  }

  /**
   * The node closed the connection because of what it was sent.
   *
   * @returns Subscriptions that are not requested again: the node had never granted them, and they
   *   were requested when it closed the connection.
   */
  onRejected(nowMs: number): HubSubscription[] {
    const suspects = this.calls.neverGranted;
    const [only] = suspects;
    // If there are several, it is unknown which one is the cause: clients may subscribe again.
    if (only !== undefined && suspects.length === 1) {
      this.#limits.refuseLater(only.request.key, nowMs);
    }
    this.onClosed();
    return suspects;
  }

  /** The connection is gone, and with it the node's subscriptions. */
  onClosed(): void {
    this.calls = new SubscribeCalls();
    this.#byUpstreamId.clear();
    for (const subscription of [...this.subscriptions()]) {
      if (subscription.state.kind !== "filtered") subscription.state = { kind: "notRequested" };
      this.retire(subscription);
    }
  }

  /**
   * Handles an answer of the node to a subscribe; the next sweep repeats one that was refused.
   *
   * @returns The subscription, and the JSON text of the error if the node refused. Undefined if
   *   nobody waits for the answer.
   */
  onAnswer(
    requestId: number,
    text: string,
  ): { subscription: HubSubscription; errorText?: string } | undefined {
    const answer = this.calls.onAnswer(requestId, text);
    if (answer === undefined) return undefined;
    const { subscription } = answer;
    if ("upstreamId" in answer && !this.#byUpstreamId.has(answer.upstreamId)) {
      this.#goLive(subscription, answer.upstreamId);
      return { subscription };
    }
    subscription.refusals += 1;
    if ("errorText" in answer) return answer;
    const errorText = internalErrorText("The node gave one id to two subscriptions");
    return { subscription, errorText };
  }

  /** Gives up requests that the node did not answer in time, and repeats those still needed. */
  sweep(nowMs: number): void {
    const { subscribeTimeoutMs } = this.#options;
    for (const late of this.calls.giveUp(nowMs, subscribeTimeoutMs)) this.retire(late);
    for (const subscription of this.subscriptions()) this.requestAtNode(subscription, nowMs);
    this.calls.endUnknown((id) => this.#byUpstreamId.has(id));
  }

  #goLive(subscription: HubSubscription, upstreamId: string): void {
    subscription.state = { kind: "granted", upstreamId };
    subscription.refusals = 0;
    this.#byUpstreamId.set(upstreamId, subscription);
    if (subscription.publicId !== undefined) return;
    const isTaken = this.#publicIds.has(upstreamId);
    this.#setPublicId(subscription, isTaken ? randomId() : upstreamId);
  }

  #setPublicId(subscription: HubSubscription, publicId: string): void {
    subscription.publicId = publicId;
    this.#publicIds.add(publicId);
  }

  #forget(subscription: HubSubscription): void {
    const { request, publicId } = subscription;
    this.#limits.slotsOf(request)?.remove(subscription);
    if (publicId !== undefined) this.#publicIds.delete(publicId);
    this.#byKey.delete(request.key, subscription);
  }
}

/** The public id of a subscription whose id at the node is taken, or that the node does not know. */
function randomId(): string {
  return `0x${crypto.getRandomValues(new Uint8Array(16)).toHex()}`;
}
