import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { systemClock } from "@rangemaker/client";
import { Card } from "../card.tsx";
import type { PageModel } from "../data/page_model.ts";
import { type Providers, ProvidersWatch } from "../data/providers.ts";
import { type ServiceName, type ServiceState, ServiceWatch } from "../data/service_watch.ts";
import { Fact } from "../fact.tsx";
import { formatDuration, formatQuotePrice, toNumber } from "../format.ts";
import type { View } from "../shell.tsx";
import { type Column, Table } from "../table.tsx";
import { figuresOf, formatAge } from "./figures.ts";
import {
  anchorOf,
  EFFECTS,
  type Finding,
  findingsOf,
  isOfProcess,
  noProblemText,
  processesOf,
} from "./problems.ts";
import { Sparkline } from "./sparkline.tsx";

/** In the order in which prices and bets flow. */
const ORDER: readonly ServiceName[] = ["exchanges", "oracle", "node", "proxy", "bridge", "solver"];

/** The operator's view. It asks the services only while it is shown. */
export function openOperatorView({ config, markets: { symbols } }: PageModel): View {
  const watches = ORDER.flatMap((name) => {
    const url = config.urls[name];
    return url === undefined ? [] : [new ServiceWatch(name, url, systemClock)];
  });
  const { oracle } = config.urls;
  const sources = oracle === undefined ? undefined : new ProvidersWatch(oracle, systemClock);
  const Body = () => <OperatorView watches={watches} sources={sources} symbols={symbols} />;
  return { id: "operator", label: "Operator", Body };
}

interface OperatorViewProps {
  symbols: readonly string[];
  watches: readonly ServiceWatch[];
  sources: ProvidersWatch | undefined;
}

function OperatorView({ watches, sources, symbols }: OperatorViewProps) {
  useEffect(() => {
    for (const watch of [...watches, sources]) watch?.poll.start();
    return () => {
      for (const watch of [...watches, sources]) watch?.poll.stop();
    };
  }, []);
  const states = watches.map(({ state }) => state.value);
  const providers = sources?.providers.value;
  return (
    <div class="board">
      <Findings
        findings={findingsOf(states, providers)}
        isKnown={states.every(({ isUp }) => isUp !== undefined)}
        watched={states.map(({ name }) => name)}
      />
      <section class="services" aria-label="Services">
        {processesOf(states).map((services) => (
          <ProcessCard key={services[0]?.name} services={services} />
        ))}
        {states.map((state) => <ServiceCard key={state.name} state={state} />)}
      </section>
      {sources !== undefined && <Sources providers={providers} states={states} symbols={symbols} />}
    </div>
  );
}

interface FindingsProps {
  findings: readonly Finding[];
  /** Whether every service has been asked. */
  isKnown: boolean;
  watched: readonly ServiceName[];
}

function Findings({ findings, isKnown, watched }: FindingsProps) {
  const following = findings.filter(({ cause }) => cause !== undefined);
  const causes = [...new Set(following.flatMap(({ cause }) => cause ?? []))];
  const isAway = (name: ServiceName) =>
    findings.some(({ service, chapter }) => service === name && chapter === "ServiceDown");
  const first = findings.filter(({ cause }) => cause === undefined);
  return (
    <Card title="What is wrong">
      {findings.length === 0 && (
        <p class={isKnown ? "won verdict" : "note"}>
          {isKnown ? noProblemText(watched) : "Asking the services …"}
        </p>
      )}
      <FindingList findings={first} />
      {following.length > 0 && (
        <details>
          <summary>
            {following.length} more that may follow: {causes.map((name) =>
              isAway(name)
                ? `${name} must be back first (${EFFECTS[name]})`
                : `${name} answers again, and this ends within 20 s if it was the cause`
            ).join("; ")}
          </summary>
          <FindingList findings={following} />
        </details>
      )}
    </Card>
  );
}

function FindingList({ findings }: { findings: readonly Finding[] }) {
  return (
    <ul>
      {findings.map(({ service, severity, text, firstStep, chapter }) => (
        <li key={service + chapter} class="finding" data-severity={severity}>
          <p>
            <span class={severity === "critical" ? "lost" : "warning"}>
              {severity === "critical" ? "✕ Critical" : "▲ Warning"}
            </span>{" "}
            <strong>{service}</strong> {text}.
          </p>
          <p>
            <strong>Do first:</strong> {firstStep.replaceAll("`", "")}
          </p>
          <p class="note">
            Runbook: <code>{anchorOf(chapter)}</code>
          </p>
        </li>
      ))}
    </ul>
  );
}

/** The state of a service as a sign, a word and a class. */
function verdictOf({ isUp, isHealthy, isReady }: ServiceState): [style: string, text: string] {
  if (isUp === undefined) return ["note", "… asking"];
  if (!isUp) return ["lost", "✕ away"];
  if (!isHealthy) return ["lost", "✕ not healthy"];
  if (isReady === false) return ["warning", "▲ not ready"];
  return ["won", isReady === undefined ? "✓ healthy" : "✓ healthy, ready"];
}

function ServiceCard({ state }: { state: ServiceState }) {
  const { name, url, version, history, isUp, trends } = state;
  const [style, verdict] = verdictOf(state);
  return (
    <article class="card" data-service={name} data-up={isUp}>
      <div class="row">
        <h3>{name}</h3>
        <span class={style}>{verdict}</span>
      </div>
      <p class="note">
        {[url.replace(/^https?:\/\//, ""), version && `version ${version}`].filter(Boolean)
          .join(" · ")}
      </p>
      <dl class="facts" data-old={isUp === false}>
        {isUp !== undefined &&
          figuresOf(name, history).map(([label, text]) => (
            <Fact key={label} label={label}>{text}</Fact>
          ))}
        {trends.filter(({ problem }) => !isOfProcess(problem)).map((trend) => (
          <Sparkline key={trend.problem.name} trend={trend} />
        ))}
      </dl>
    </article>
  );
}

/** A process, once for all services that run in it. */
function ProcessCard({ services }: { services: readonly ServiceState[] }) {
  const [first] = services;
  const startedAtS = first?.history.latest.sum("process_start_time_seconds");
  if (first === undefined || startedAtS === undefined) return null;
  const names = services.map(({ name }) => name).join(", ");
  return (
    <article class="card" data-process={names}>
      <h3>Process</h3>
      <p class="note">of {names}</p>
      <dl class="facts">
        <Fact label="Runs for">{formatDuration(Date.now() - startedAtS * 1_000)}</Fact>
        {first.trends.filter(({ problem }) => isOfProcess(problem)).map((trend) => (
          <Sparkline key={trend.problem.name} trend={trend} />
        ))}
      </dl>
    </article>
  );
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
                text: (provider) => provider && (provider.lastError ?? "none"),
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
