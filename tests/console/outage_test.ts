/** The console while services go and come back: it says what is missing, and goes on by itself. */
import assert from "node:assert/strict";
import { withDefaults } from "../../lib/cli/options.ts";
import type { RunningService } from "../../lib/http/service.ts";
import {
  configOf,
  loadPage,
  options as consoleOptions,
  startConsole,
} from "../../services/console/mod.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { options as nodeOptions, startNode } from "../../services/node/mod.ts";
import { options as oracleOptions, startOracle } from "../../services/oracle/mod.ts";
import { options as proxyOptions, startProxy } from "../../services/proxy/mod.ts";
import { hasChromium, launchBrowser, Visitor } from "./browser.ts";

const portOf = (url: string) => Number(new URL(url).port);

Deno.test({
  name: "Console: oracle and chain go and come back, without a reload",
  ignore: !hasChromium,
  async fn() {
    const running = new Set<RunningService>();
    const keep = <S extends RunningService>(service: S): S => {
      running.add(service);
      return service;
    };
    const stop = async (service: RunningService) => {
      running.delete(service);
      await service.stop();
    };
    const browser = await launchBrowser();
    try {
      const exchanges = keep(await startExchanges(withDefaults(exchangesOptions, { port: 0 })));
      const { providerUrls } = exchanges;
      const oracleAt = async (port: number) =>
        keep(await startOracle(withDefaults(oracleOptions, { port, minSources: 2, providerUrls })));
      let oracle = await oracleAt(0);
      const nodeAt = async (port: number) =>
        keep(
          await startNode(
            withDefaults(nodeOptions, {
              ...{ port, oracleUrl: oracle.url, maxStaleMs: 1_000 },
              dataDir: ":memory:",
            }),
          ),
        );
      const node = await nodeAt(0);
      const proxy = keep(
        await startProxy(
          withDefaults(proxyOptions, { port: 0, writeNodeUrl: node.url, readNodeUrl: node.url }),
        ),
      );
      const options = withDefaults(consoleOptions, {
        port: 0,
        proxyUrl: proxy.url,
        developmentChain: true,
      });
      const config = await configOf(options);
      const page = keep(startConsole(options, await loadPage(), () => config));
      const visitor = await Visitor.open(browser, page.url);
      await visitor.sees(/Live/);
      await visitor.sees(/ETH\/USDT\s+[23],\d{3}\.\d{2}/);

      await stop(oracle);
      await visitor.sees(/No fresh price of BTC\/USDT, ETH\/USDT, SOL\/USDT: the oracle is away/);
      oracle = await oracleAt(portOf(oracle.url));
      await visitor.seesNo(/No fresh price/);

      await stop(node);
      await visitor.sees(/No live prices/);
      await nodeAt(portOf(node.url));
      await visitor.sees(/The chain was reset/);
      await visitor.seesNo(/No live prices|No fresh price/);
      assert.equal(await visitor.page.$eval(".connection", (found) => found.textContent), "Live");
      await visitor.close({ outages: true });
    } finally {
      await browser.close();
      for (const service of [...running].reverse()) await service.stop();
    }
  },
});
