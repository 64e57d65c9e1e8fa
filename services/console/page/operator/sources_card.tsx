import { Card } from "../parts/parts.tsx";
import { isAway, type Providers, type ServiceState } from "../data/service_watch.ts";
import { formatQuotePrice, formatTime, toNumber } from "../parts/format.ts";
import { type Column, Table } from "../parts/table.tsx";
import { faultText, formatAge, formatPoints, sourceVerdictOf } from "./figures.ts";

interface SourcesProps {
  symbols: readonly string[];
  providers: Providers | undefined;
  oracle: ServiceState;
  /** Whether stand-ins for the exchanges are the sources. */
  isSimulated: boolean;
}

type Provider = Providers["providers"][number];

/** Prices of the oracle and of each exchange, their age, and their distance from the median. */
export function Sources({ providers, oracle, symbols, isSimulated }: SourcesProps) {
  const missing = oracle.presence === "forbidden"
    ? "The oracle does not allow this page to read it."
    : isAway(oracle)
    ? "The oracle does not answer."
    : "Asking the oracle …";
  const pricesOf = (symbol: string): Column<Provider | undefined> => ({
    name: symbol,
    number: (provider) => (
      <Price
        provider={provider}
        symbol={symbol}
        pair={providers?.pairSources[symbol]}
        ageS={oracle.history.latest.sum("oracle_price_age_seconds", { pair: symbol })}
      />
    ),
  });
  return (
    <Card title="Price sources">
      {providers === undefined ? <p class="note">{missing}</p> : (
        <>
          <Table
            of="price sources"
            isCards
            rows={[undefined, ...providers.providers]}
            keyOf={(provider) => provider?.name ?? "oracle"}
            attributesOf={(provider) => ({ class: provider === undefined ? "total" : "source" })}
            columns={[
              {
                name: "Source",
                text: (provider) =>
                  provider === undefined
                    ? "Oracle"
                    : <Source {...provider} isSimulated={isSimulated} />,
              },
              ...symbols.map(pricesOf),
              {
                name: "Last fault",
                text: (provider) => provider && <LastFault {...provider} />,
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

interface SourceProps extends Provider {
  isSimulated: boolean;
}

/** A source has the name that logs, metrics and the API give it. */
function Source({ exchange, isSimulated, ...provider }: SourceProps) {
  const [style, verdict] = sourceVerdictOf(provider);
  return (
    <>
      {provider.name} <span class={style}>{verdict}</span>
      <span class="detail">
        {isSimulated ? `simulated, in the format of ${exchange}` : exchange}
      </span>
    </>
  );
}

const LastFault = ({ ready, lastError, lastErrorTime, reconnects }: Provider) =>
  lastError && (
    <span class={ready ? "note" : "lost"}>
      {lastErrorTime && `${formatTime(lastErrorTime)}: `}
      {`${faultText(lastError)} (connected or tried ${reconnects} ×)`}
    </span>
  );

interface PriceProps {
  /** Undefined for the oracle's own price. */
  provider: Provider | undefined;
  symbol: string;
  pair: Providers["pairSources"][string] | undefined;
  /** Age of the oracle's own price. */
  ageS: number | undefined;
}

/** Lines break between details, not within one. */
function Price({ provider, symbol, pair, ageS }: PriceProps) {
  const { name = "", streams } = provider ?? {};
  const price = provider === undefined ? pair?.price : pair?.sourcePrices[name];
  const age = streams?.[symbol]?.lastTradeAgeMs;
  const points = pair?.deviationBasisPoints?.[name];
  const details = [
    provider === undefined && ageS !== undefined && `${formatAge(1_000 * ageS)} old`,
    age != null && formatAge(age),
    points !== undefined && formatPoints(points),
    pair?.outliers.includes(name) && "▲ far",
  ].flatMap((text) => text ? text.replaceAll(" ", "\u00a0") : []);
  return (
    <>
      {price !== undefined
        ? formatQuotePrice(toNumber(price))
        : provider === undefined
        ? <span class="lost">✕ no price</span>
        : <span class="note">does not contribute</span>}
      <span class="detail">{details.join(" · ")}</span>
    </>
  );
}
