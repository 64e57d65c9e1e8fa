import { computed, type Signal, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { isRangemakerError, systemClock, type Thesis } from "@rangemaker/client";
import { isBeyond, type Problem, PROBLEMS } from "../../../../lib/problems/mod.ts";
import { Card } from "../card.tsx";
import { Poll } from "../data/http.ts";
import type { MetricsHistory } from "../data/metrics.ts";
import type { PageModel } from "../data/page_model.ts";
import { type Providers, ProvidersWatch } from "../data/providers.ts";
import { type ServiceName, type ServiceState, ServiceWatch } from "../data/service_watch.ts";
import { Fact } from "../fact.tsx";
import { formatDuration, formatQuotePrice, toNumber } from "../format.ts";
import type { View } from "../shell.tsx";
import { type Column, Table } from "../table.tsx";
import { figuresOf, formatAge, formatValue } from "./figures.ts";
import {
  backfillOf,
  type Finding,
  findingsOf,
  isOfProcess,
  keyOf,
  PRICES_MISSING,
  processesOf,
  sinceMsOf,
  worstOf,
} from "./problems.ts";
import { Findings, type TimedFinding, verdictOf } from "./findings_card.tsx";

/** In the order in which prices and bets flow. */
const ORDER: readonly ServiceName[] = ["exchanges", "oracle", "node", "proxy", "bridge", "solver"];

/** The operator's view. Once it is opened, it asks the services behind other views, too. */
export function openOperatorView({ config, client, markets }: PageModel): View {
  const { symbols } = markets;
  const watches = ORDER.flatMap((name) => {
    const url = config.urls[name];
    return url === undefined ? [] : [new ServiceWatch(name, url, systemClock)];
  });
  const { oracle } = config.urls;
  const sources = oracle === undefined ? undefined : new ProvidersWatch(oracle, systemClock);
  const backfills: Signal<readonly string[]> = signal([]);
  let sinceMs: ReadonlyMap<string, number> = new Map();
  const findings = computed(() => {
    const states = watches.map(({ state }) => state.value);
    const found = findingsOf(states, sources?.providers.value);
    sinceMs = sinceMsOf(found, sinceMs, Date.now());
    return found.map((finding) => ({
      ...finding,
      details: finding.chapter === PRICES_MISSING ? backfills.value : finding.details,
      sinceMs: sinceMs.get(keyOf(finding)),
    }));
  });
  /** Reads the open bets of markets whose prices are missing: their times are those of the gap at most. */
  const readGaps = async () => {
    const node = watches.find(({ state }) => state.value.name === "node")?.state.value;
    const missing = node?.history.latest.of("node_price_slots_needed").filter(({ value }) =>
      value > 0
    );
    if (!missing?.length) return;
    const bets: Thesis[] = [];
    for await (const { theses } of client.theses({ status: "open" })) bets.push(...theses);
    backfills.value = missing.map(({ labels: { market = "" } }) => {
      const own = bets.filter(({ base, quote }) => markets.find(base, quote)?.symbol === market);
      return backfillOf(market, own, Date.now());
    });
  };
  // Without the node there is no command, and its absence is a problem of its own.
  new Poll(systemClock, () =>
    readGaps().catch((thrown) => {
      if (!isRangemakerError(thrown)) throw thrown;
    })).start();
  const alarms = computed(() =>
    findings.value.filter(({ severity, cause }) => severity === "critical" && !cause).length
  );
  for (const watch of [...watches, sources]) watch?.poll.start();
  const Body = () => <OperatorView {...{ watches, sources, symbols }} findings={findings.value} />;
  return { id: "operator", label: "Operator", Body, alarms };
}

interface OperatorViewProps {
  symbols: readonly string[];
  watches: readonly ServiceWatch[];
  sources: ProvidersWatch | undefined;
  findings: readonly TimedFinding[];
}

function OperatorView({ watches, sources, symbols, findings }: OperatorViewProps) {
  const states = watches.map(({ state }) => state.value);
  const processes = processesOf(states);
  return (
    <div class="board">
      <Findings findings={findings} states={states} />
      <section class="services" aria-label="Services">
        {states.map((state) => (
          <ServiceCard
            key={state.name}
            state={state}
            findings={findings}
            process={processes.find((services) => services.includes(state)) ?? []}
          />
        ))}
      </section>
      {sources !== undefined && (
        <Sources providers={sources.providers.value} states={states} symbols={symbols} />
      )}
    </div>
  );
}

interface ServiceCardProps {
  state: ServiceState;
  findings: readonly Finding[];
  /** The services in its process. */
  process: readonly ServiceState[];
}

function ServiceCard({ state, findings, process }: ServiceCardProps) {
  const { name, url, version, history, isUp } = state;
  const [style, verdict] = verdictOf(state, findings);
  return (
    <article class="card" data-service={name} data-up={isUp}>
      <div class="row">
        <h3>{name}</h3>
        <span class={style}>{verdict}</span>
      </div>
      <p class="note">
        {[
          url.replace(/^https?:\/\//, ""),
          version && `version ${version}`,
          ...processTexts(state, process),
        ].filter(Boolean).join(" · ")}
      </p>
      <dl class="facts" data-old={isUp === false}>
        {isUp !== undefined &&
          figuresOf(name, history).map(([label, text]) => (
            <Fact key={label} label={label}>{text}</Fact>
          ))}
        {PROBLEMS.filter((problem) => !isOfProcess(problem))
          .map((problem) => <AlertFact key={problem.name} problem={problem} history={history} />)}
      </dl>
    </article>
  );
}

/** The newest value of a figure that has an alert, and the bound. */
function AlertFact({ problem, history }: { problem: Problem; history: MetricsHistory }) {
  const { title, bound, isFlag, measure } = problem;
  const worst = worstOf(bound, measure.read(history));
  // What has a value only while it is wrong is among the problems.
  if (worst === undefined || bound.limit < 0) return null;
  const isWrong = isBeyond(worst, bound);
  const sign = { ">": "above ", "<": "below ", "==": isFlag ? "if " : "at " }[bound.op];
  return (
    <div>
      <dt>
        {title} <span class="limit">· alert {sign + formatValue(bound.limit, problem)}</span>
      </dt>
      <dd class={isWrong ? "lost" : undefined}>
        {isWrong && "✕ "}
        {formatValue(worst, problem)}
      </dd>
    </div>
  );
}

/** How long its process runs, and the memory that it shares with others there. */
function processTexts({ isUp, history }: ServiceState, process: readonly ServiceState[]): string[] {
  const startedAtS = history.latest.sum("process_start_time_seconds");
  const memory = history.latest.sum("process_resident_memory_bytes");
  if (!isUp || startedAtS === undefined || memory === undefined) return [];
  const others = process.length > 1 ? ` with ${process.length - 1} others` : "";
  return [
    `runs ${formatDuration(Date.now() - startedAtS * 1_000)}`,
    formatValue(memory, { unit: "bytes" }) + others,
  ];
}

interface SourcesProps {
  symbols: readonly string[];
  providers: Providers | undefined;
  states: readonly ServiceState[];
}

/** Prices of the oracle and of each exchange, how old they are, and how far from the median. */
function Sources({ providers, states, symbols }: SourcesProps) {
  const oracle = states.find(({ name }) => name === "oracle")?.history.latest;
  const ageOf = (pair: string) => {
    const seconds = oracle?.sum("oracle_price_age_seconds", { pair });
    return seconds === undefined ? "" : `${formatAge(1_000 * seconds)} old`;
  };
  return (
    <Card title="Price sources">
      {providers === undefined ? <p class="note">The oracle does not answer yet.</p> : (
        <>
          <Table
            of="price sources"
            rows={[undefined, ...providers.providers]}
            keyOf={(provider) => provider?.name ?? "oracle"}
            attributesOf={(provider) => ({ class: provider === undefined ? "total" : "source" })}
            columns={[
              {
                name: "Source",
                text: (provider) => provider === undefined ? "Oracle" : <Source {...provider} />,
              },
              ...symbols.map((symbol): Column<Provider | undefined> => ({
                name: symbol,
                number: (provider) =>
                  provider === undefined
                    ? (
                      <Priced
                        price={providers.pairSources[symbol]?.price}
                        missing={<span class="lost">✕ no price</span>}
                        details={[ageOf(symbol)]}
                      />
                    )
                    : (
                      <SourcePrice
                        provider={provider}
                        symbol={symbol}
                        pair={providers.pairSources[symbol]}
                      />
                    ),
              })),
              { name: "Reconnects", number: (provider) => provider?.reconnects },
              {
                name: "Last fault",
                text: (provider) =>
                  provider && (provider.ready && provider.lastError
                    ? <span class="note">before it connected again: {provider.lastError}</span>
                    : provider.lastError ?? "none"),
              },
            ]}
          />
          <p class="note">
            Below each price: the age of its last trade, and how far it lies from the median of the
            sources. 1 bp is 0.01 %.
          </p>
        </>
      )}
    </Card>
  );
}

type Provider = Providers["providers"][number];

const Source = ({ exchange, ready }: Provider) => (
  <>
    {exchange} <span class={ready ? "won" : "lost"}>{ready ? "✓" : "✕ not connected"}</span>
  </>
);

interface SourcePriceProps {
  provider: Provider;
  symbol: string;
  pair: Providers["pairSources"][string] | undefined;
}

function SourcePrice({ provider: { name, streams }, symbol, pair }: SourcePriceProps) {
  const age = streams[symbol]?.lastTradeAgeMs;
  const points = pair?.deviationBasisPoints?.[name];
  return (
    <Priced
      price={pair?.sourcePrices[name]}
      missing={<span class="note">does not contribute</span>}
      details={[
        age == null ? "" : formatAge(age),
        points === undefined ? "" : formatPoints(points),
        pair?.outliers.includes(name) ? "▲ far" : "",
      ]}
    />
  );
}

interface PricedProps {
  price: bigint | undefined;
  /** Shown without a price. */
  missing: ComponentChildren;
  details: readonly string[];
}

const Priced = ({ price, missing, details }: PricedProps) => (
  <>
    {price === undefined ? missing : formatQuotePrice(toNumber(price))}
    <span class="detail">{details.filter((text) => text !== "").join(" · ")}</span>
  </>
);

/** Basis points with their sign. */
function formatPoints(points: number): string {
  const sign = points > 0 ? "+" : points < 0 ? "−" : "±";
  return `${sign}${Math.abs(points).toFixed(1)} bp`;
}
