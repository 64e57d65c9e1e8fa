import type { ComponentChildren } from "preact";
import { Card } from "../card.tsx";
import type { Providers } from "../data/providers.ts";
import type { ServiceState } from "../data/service_watch.ts";
import { formatQuotePrice, toNumber } from "../format.ts";
import { type Column, Table } from "../table.tsx";
import { faultOf, faultText, formatAge, formatPoints } from "./figures.ts";

interface SourcesProps {
  symbols: readonly string[];
  providers: Providers | undefined;
  states: readonly ServiceState[];
}

/** Prices of the oracle and of each exchange, how old they are, and how far from the median. */
export function Sources({ providers, states, symbols }: SourcesProps) {
  const oracle = states.find(({ name }) => name === "oracle")?.history.latest;
  const ageOf = (pair: string) => {
    const seconds = oracle?.sum("oracle_price_age_seconds", { pair });
    return seconds === undefined ? "" : `${formatAge(1_000 * seconds)} old`;
  };
  return (
    <Card title="Price sources">
      {providers === undefined ? <p class="note">The oracle does not answer.</p> : (
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
              {
                name: "Last fault",
                text: (provider) =>
                  provider?.lastError && (
                    <span class={provider.ready ? "note" : "lost"}>
                      {faultText(provider.lastError)}
                      {provider.reconnects > 0 && ` (connected again ${provider.reconnects} ×)`}
                    </span>
                  ),
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

function Source({ exchange, ...provider }: Provider) {
  const fault = faultOf(provider);
  return (
    <>
      {exchange}{" "}
      {fault === undefined ? <span class="won">✓</span> : <span class="lost">✕ {fault}</span>}
    </>
  );
}

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

/** Lines break between the details, and not within one. */
const Priced = ({ price, missing, details }: PricedProps) => (
  <>
    {price === undefined ? missing : formatQuotePrice(toNumber(price))}
    <span class="detail">
      {details.filter((text) => text !== "").join(" · ").replaceAll(/(?<!·) (?!·)/g, "\u00a0")}
    </span>
  </>
);
