/** What the operator's view shows: services, problems, and commands for missing prices. */
import {
  computed,
  effect,
  type ReadonlySignal,
  type Signal,
  signal,
  untracked,
} from "@preact/signals";
import { isRangemakerError, systemClock, type Thesis } from "@rangemaker/client";
import { isAnswered, Poll } from "../data/http.ts";
import { notify, type PageModel } from "../data/page_model.ts";
import {
  isAway,
  isSilent,
  isUp,
  ProvidersWatch,
  type ServiceName,
  type ServiceState,
  ServiceWatch,
  unknownOf,
} from "../data/service_watch.ts";
import { isJudged, NEEDS_BACKFILL, PRICES_MISSING, SERVICES } from "./causes.ts";
import { newAlarmOf, pastOf, seenAfter, type SeenProblems } from "./problem_times.ts";
import { findingsOf, isChecked, mayBeOlder, withRepair } from "./problems.ts";
import {
  betRepair,
  marketRepair,
  OPEN_BETS_MAX,
  readBets,
  readGap,
  type Repair,
} from "./repairs.ts";

/** Watches the services and finds their problems while `isOpen` is true. */
export function watchOperator(model: PageModel) {
  const { urls } = model.config;
  const isAnyAnswered = (sinceMs: number) =>
    watches.some(({ state: { value: { presence, lastAnswerAtMs = 0 } } }) =>
      presence === "forbidden" || lastAnswerAtMs > sinceMs
    );
  // The keys of this very record.
  const watches: readonly ServiceWatch[] = (Object.keys(SERVICES) as ServiceName[]).flatMap(
    (name) => {
      const url = urls[name];
      return url === undefined ? [] : [new ServiceWatch(name, url, systemClock, isAnyAnswered)];
    },
  );
  const sources = urls.oracle === undefined
    ? undefined
    : new ProvidersWatch(urls.oracle, systemClock);
  const { isOffline } = model.feed;
  const latest = computed(() => watches.map(({ state }) => state.value));
  // If nothing answers, nothing is known of the services: it may be this page's own connection.
  const areSilent = computed(() => isOffline.value || latest.value.every(isSilent));
  const isServed = signal(false);
  const server = new Poll(systemClock, async (signal) => {
    isServed.value = await isAnswered("/health", signal);
  });
  /** What answers, if no service does. */
  const cutOff = computed(() =>
    areSilent.value ? isServed.value ? "page" as const : "nothing" as const : undefined
  );
  const states = computed(() => areSilent.value ? latest.value.map(unknownOf) : latest.value);
  const seen: Signal<SeenProblems> = signal({ found: [], unchecked: [], ended: [] });
  const { repairs, openEndsMs, poll } = watchRepairs(model, states);
  const found = computed(() =>
    findingsOf(states.value, pastOf(seen.peek(), Date.now()))
      .map((finding) => withRepair(finding, repairs.value, openEndsMs.value))
  );
  const start = () => {
    for (const watch of watches) watch.poll.start();
    poll.start();
    sources?.start();
  };
  const stop = () => {
    for (const watch of watches) watch.forget();
    poll.stop();
    sources?.poll.stop();
  };
  const isOpen = signal(false);
  const isAsking = computed(() => isOpen.value && !isOffline.value);
  effect(() => {
    const change = isAsking.value ? start : stop;
    untracked(change); // it reads what the polls have found
  });
  effect(() => {
    const asks = isAsking.value && areSilent.value;
    untracked(() => {
      isServed.value = false;
      if (asks) server.start();
      else server.stop();
    });
  });
  // Browsers delay the polls of a hidden tab, so its prices may be old.
  document.addEventListener("visibilitychange", () => {
    if (isAsking.value) sources?.start();
  });
  effect(() => {
    const before = seen.peek();
    const after = seenAfter(before, found.value, {
      isChecked: (finding) => isChecked(finding, states.value),
      isJudged: (finding) => isJudged(finding, states.value),
      mayBeOlder: (finding) => mayBeOlder(finding, states.value),
    }, Date.now());
    const alarm = newAlarmOf(after, before);
    if (alarm !== undefined) notify(`${alarm.service}: ${alarm.text}`);
    seen.value = after;
  });
  return { states, sources, seen, isOpen, cutOff };
}

export type OperatorWatch = ReturnType<typeof watchOperator>;

/** Pause between searches for missing prices. */
const REPAIRS_PAUSE_MS = 3_000;

/** The commands for missing prices, by chapter, and the ends of open bets. */
function watchRepairs(
  { config, client, markets, serverClock }: PageModel,
  states: ReadonlySignal<readonly ServiceState[]>,
) {
  const repairs: Signal<ReadonlyMap<string, Repair>> = signal(new Map());
  // Kept while the node is away, when nobody else knows them.
  const openEndsMs: Signal<readonly number[]> = signal([]);
  const read = async () => {
    const node = states.value.find(({ name }) => name === "node");
    const latest = node && isUp(node) ? node.history.latest : undefined;
    const needed = latest?.of("node_price_slots_needed").filter(({ value }) => value > 0) ?? [];
    const waiting = latest?.sum("node_theses_without_prices") ?? 0;
    const open = await readBets(client, "open", needed.length === 0 ? OPEN_BETS_MAX : Infinity);
    openEndsMs.value = open.length < OPEN_BETS_MAX ? open.map(({ endTime }) => endTime) : [];
    const ended = waiting === 0 ? [] : await readBets(client, "needs_backfill");
    const symbolOf = ({ base, quote }: Thesis) => markets.find(base, quote)?.symbol ?? "";
    const gaps = await Promise.all(needed.map(({ labels: { market = "" } }) => {
      const bets = [...open, ...ended].filter((bet) => symbolOf(bet) === market);
      return readGap(client, market, bets, serverClock.now());
    }));
    const exchanges = states.value.find(({ name }) => name === "exchanges");
    const isAsleep = exchanges !== undefined && isAway(exchanges);
    const source = { historyUrl: config.urls.exchanges, isAway: isAsleep };
    const found = [
      [PRICES_MISSING, marketRepair(gaps, source)],
      [NEEDS_BACKFILL, betRepair(ended, source)],
    ] as const;
    repairs.value = new Map(
      found.flatMap(([chapter, repair]) => repair ? [[chapter, repair]] : []),
    );
  };
  // Without the node there are no commands. Its absence is reported separately.
  const wait = (thrown: unknown) => {
    if (!isRangemakerError(thrown)) throw thrown;
  };
  const poll = new Poll(systemClock, () => read().catch(wait), REPAIRS_PAUSE_MS);
  return { repairs, openEndsMs, poll };
}
