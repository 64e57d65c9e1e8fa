import { render } from "preact";
import { messageOf } from "../../../lib/errors.ts";
import "./theme.css";
import "./shell.css";
import "./trade/trade.css";
import "./board.css";
import { type PageConfig, pageConfigSchema } from "../page_config.ts";
import { PageModel } from "./data/page_model.ts";
import { Shell } from "./shell.tsx";
import { viewOnDemand } from "./parts/view.tsx";
import { createTradeView } from "./trade/trade_view.tsx";

/** Retry delay for `/config.json`. */
const RETRY_MS = 300;

/** Fetches the service URLs and retries until it succeeds. */
async function readConfig(onFailure: (reason: string) => void) {
  for (;;) {
    try {
      const response = await fetch("/config.json");
      if (response.ok) return pageConfigSchema.parse(await response.json());
      onFailure(`GET /config.json failed with HTTP ${response.status}. Trying again …`);
    } catch (thrown) {
      onFailure(`The console does not answer: ${messageOf(thrown)}. Trying again …`);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** @throws Whatever the browser does not allow, such as storage. */
function show(root: HTMLElement, config: PageConfig): void {
  const model = new PageModel(config);
  history.scrollRestoration = "manual"; // a reloaded page opens at the chart
  const views = [
    createTradeView(model),
    viewOnDemand(
      "maker",
      "Maker",
      async () => (await import("./maker/maker_view.tsx")).createMakerView(model),
    ),
    viewOnDemand(
      "operator",
      "Operator",
      async () => (await import("./operator/operator_view.tsx")).createOperatorView(model),
    ),
  ] as const;
  root.replaceChildren();
  render(<Shell model={model} views={views} />, root);
}

const root = document.getElementById("page");
if (root !== null) {
  const tell = (text: string) => {
    const place = root.querySelector(".boot p");
    if (place !== null) place.textContent = text;
  };
  const config = await readConfig(tell);
  try {
    show(root, config);
  } catch (thrown) {
    const reason = messageOf(thrown); // Firefox only says that "the operation is insecure"
    tell(`This browser does not let the page start: ${reason} Does it allow pages to store data?`);
    throw thrown;
  }
}
