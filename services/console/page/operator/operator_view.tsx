import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { PageModel } from "../data/page_model.ts";
import { isCritical } from "./finding.ts";
import { Findings } from "./findings_card.tsx";
import { processesOf } from "./problems.ts";
import { ServiceCard } from "./service_card.tsx";
import { type OperatorWatch, watchOperator } from "./operator_watch.ts";
import { Sources } from "./sources_card.tsx";

/** The operator's view. It watches the services while it is open, also in a hidden tab. */
export function createOperatorView(model: PageModel): ComponentType {
  const watch = watchOperator(model);
  return () => <OperatorView model={model} watch={watch} />;
}

function OperatorView({ model, watch }: { model: PageModel; watch: OperatorWatch }) {
  const { poll, providers } = watch.services;
  const isOffline = model.feed.isOffline.value;
  const { findings, verdicts } = watch.look.value;
  const states = verdicts.map(({ state }) => state);
  const processes = processesOf(states);
  const oracle = states.find(({ name }) => name === "oracle");
  const criticals = findings.filter(isCritical).length;
  useEffect(() => {
    if (isOffline) return;
    poll.start();
    return () => watch.services.forget();
  }, [isOffline]);
  useEffect(() => {
    document.title = `${criticals > 0 ? `✕ ${criticals} · ` : ""}Operator · rangemaker`;
  }, [criticals]);
  return (
    <div class="board">
      <Findings {...watch.look.value} isCutOff={watch.isCutOff.value} />
      <div class="services">
        {verdicts.map((verdict) => (
          <ServiceCard
            key={verdict.state.name}
            {...verdict}
            process={processes.find((services) => services.includes(verdict.state)) ?? []}
          />
        ))}
      </div>
      {oracle && (
        <Sources
          oracle={oracle}
          symbols={model.markets.symbols}
          providers={providers.value}
          isSimulated={model.isSimulated}
        />
      )}
    </div>
  );
}
