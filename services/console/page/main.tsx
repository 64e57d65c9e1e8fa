import "./styles.css";
import { render } from "preact";
import { messageOf } from "../../../lib/errors.ts";
import { pageConfigSchema } from "../page_config.ts";
import { openPageModel } from "./data/page_model.ts";
import { Shell, viewOnDemand } from "./shell.tsx";
import { followTheme } from "./theme.ts";
import { openTradeView } from "./trade/trade_view.tsx";

/** Retry delay for `/config.json`: short, because a starting stack is ready within a second. */
const RETRY_MS = 300;

/** Fetches the service URLs and retries until it succeeds. */
async function readConfig(onFailure: (reason: string) => void) {
  for (;;) {
    try {
      const response = await fetch("/config.json", { cache: "no-store" });
      if (response.ok) return pageConfigSchema.parse(await response.json());
      onFailure(
        response.status === 503
          ? "The services are starting …"
          : `GET /config.json failed with HTTP ${response.status}. Trying again …`,
      );
    } catch (thrown) {
      onFailure(`The console does not answer: ${messageOf(thrown)}. Trying again …`);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Storage key that operators' browsers set: the page then watches the services behind any view. */
const WATCHES_KEY = "rangemaker.watches";

const root = document.getElementById("page");
if (root !== null) {
  followTheme();
  const config = await readConfig((reason) => {
    const place = root.querySelector(".boot p");
    if (place !== null) place.textContent = reason;
  });
  const model = openPageModel(config, globalThis.window);
  root.replaceChildren();
  const operator = viewOnDemand("operator", "Operator", async () => {
    localStorage.setItem(WATCHES_KEY, "yes");
    return (await import("./operator/operator_view.tsx")).openOperatorView(model);
  });
  const maker = viewOnDemand("maker", "Maker", async () => {
    operator.open();
    return (await import("./maker/maker_view.tsx")).openMakerView(model);
  });
  if (localStorage.getItem(WATCHES_KEY) !== null) operator.open();
  // Another tab has opened the operator's view: this one shows the same count beside its name.
  addEventListener("storage", ({ key }) => {
    if (key === WATCHES_KEY) operator.open();
  });
  const views = [openTradeView(model), maker, operator];
  render(<Shell model={model} views={views} />, root);
}
