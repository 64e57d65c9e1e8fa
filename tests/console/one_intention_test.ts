/** One intention, one bet: the solver hangs, dies and restarts at every step of an execution. */
import assert from "node:assert/strict";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { RangemakerClient } from "../../lib/client/mod.ts";
import { systemClock } from "../../lib/clock.ts";
import { type BetOutcome, EXPIRED } from "../../services/console/page/data/bet_keeper.ts";
import { PendingBets } from "../../services/console/page/data/pending_bets.ts";
import { Portfolio } from "../../services/console/page/data/portfolio.ts";
import { waitForPrices } from "../../services/stack/bet.ts";
import { eventually } from "../support/eventually.ts";
import { hasChromium, launchBrowser, Visitor } from "./browser.ts";
import { memoryStore } from "./support.ts";
import { TestServices } from "./services.ts";

/** The gateway's answer if the service behind it is gone. */
const LOST = new Response("<h1>Bad gateway</h1>", {
  status: 502,
  headers: { "access-control-allow-origin": "*" },
});

/** A gateway between user and solver that can keep requests and lose answers. */
class Gateway {
  /** `hang` keeps executions before the solver sees them, `lose` their answers. */
  mode: "pass" | "hang" | "lose" = "pass";
  executions = 0;
  /** Executions that the solver has answered, but whose answer the user did not get. */
  lostAnswers = 0;
  #held = Promise.withResolvers<void>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(solverUrl: () => string) {
    this.#server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      async (request) => {
        const { mode } = this;
        const { pathname } = new URL(request.url);
        const isExecution = pathname === "/execute" && request.method === "POST";
        if (isExecution) this.executions += 1;
        const body = request.method === "POST" ? await request.text() : undefined;
        if (isExecution && mode === "hang") {
          await this.#held.promise;
          return LOST.clone();
        }
        const { method, headers } = request;
        const answer = await fetch(solverUrl() + pathname, { method, headers, body })
          .catch(() => LOST.clone());
        if (!isExecution || mode !== "lose") return answer;
        await answer.body?.cancel();
        this.lostAnswers += 1;
        await this.#held.promise;
        return LOST.clone();
      },
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Requests that were kept fail without an answer; the next ones pass. */
  release(): void {
    this.mode = "pass";
    this.#held.resolve();
    this.#held = Promise.withResolvers();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release();
    await this.#server.shutdown();
  }
}

class FollowedClient extends RangemakerClient {
  /** The requested watches, which are closed once they are open. */
  readonly watches: Promise<unknown>[] = [];

  override watch(...args: Parameters<RangemakerClient["watch"]>) {
    const watch = super.watch(...args);
    this.watches.push(watch.catch(() => {}));
    return watch;
  }
}

/** A user of the page's modules, without a browser. */
class TestUser {
  readonly wallet = privateKeyToAccount(generatePrivateKey());
  readonly store = memoryStore();
  readonly client: FollowedClient;
  readonly resolved: BetOutcome[] = [];
  #portfolio: Portfolio | undefined;

  constructor(urls: TestServices["urls"]) {
    this.client = new FollowedClient({ urls, chainId: 1337, wallet: this.wallet });
  }

  get bets() {
    return this.#portfolio?.bets ?? assert.fail("The page is not open");
  }

  /** Opens the page, or loads it again. */
  load(): void {
    this.#portfolio?.close();
    this.#portfolio = new Portfolio({
      client: this.client,
      user: this.wallet.address,
      pending: new PendingBets(this.store, 1337),
      clock: systemClock,
      serverClock: systemClock,
    });
    this.bets.resolved.subscribe((resolved) => resolved && this.resolved.push(resolved.outcome));
    this.#portfolio.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#portfolio?.close();
    await Promise.all(this.client.watches);
  }

  /** Signs a bet that cannot lose, and sends it. */
  async bet(lifeMs: number): Promise<void> {
    const { price } = (await this.client.prices())["ETH/USDT"] ?? assert.fail();
    const startTime = Date.now() + 120_000;
    const offer = await this.client.quote({
      symbol: "ETH/USDT",
      lowerPrice: price / 2n,
      upperPrice: 2n * price,
      betAmount: 5_000_000n,
      startTime,
      endTime: startTime + 60_000,
      deadline: Date.now() + lifeMs,
    });
    void this.bets.send({ offer, signature: await this.client.sign(offer) });
  }

  /** How many theses the chain has of the user. */
  async count(): Promise<number> {
    let count = 0;
    const pages = this.client.theses({ user: this.wallet.address });
    for await (const { theses } of pages) count += theses.length;
    return count;
  }
}

/** What happens to the solver after the user has signed, until it works again. */
const troubles: Record<
  string,
  (services: TestServices, gateway: Gateway, user: TestUser) => unknown
> = {
  async "it hangs before it has read the request"(_services, gateway, user) {
    await eventually("doubt", () => user.bets.unresolved.value[0]?.isChecking);
    gateway.release();
  },
  async "it hangs after it has placed the bet"(_services, gateway) {
    await eventually("a placed bet", () => gateway.lostAnswers > 0);
    gateway.release();
  },
  async "it is killed before it has read the request"(services, gateway) {
    await eventually("an execution", () => gateway.executions > 0);
    await services.stop("solver");
    gateway.release();
    await services.start("solver");
  },
  async "it is killed after it has placed the bet, and forgets it"(services, gateway) {
    await eventually("a placed bet", () => gateway.lostAnswers > 0);
    await services.stop("solver");
    gateway.release();
    await services.start("solver");
  },
  async "the page is loaded again while it hangs"(_services, gateway, user) {
    await eventually("an execution", () => gateway.executions > 0);
    user.load();
    assert.equal(user.bets.unresolved.value[0]?.isChecking, true);
    gateway.release();
  },
};

Deno.test({
  name: "Console: a signed bet is placed once, whatever fails at the solver",
  timeout: 240_000,
  async fn(t) {
    await using gateway: Gateway = new Gateway(() => services.urlOf("solver"));
    await using services = await TestServices.start({ solver: gateway.url });
    const client = new RangemakerClient({ urls: services.urls, chainId: 1337 });
    await waitForPrices({ oracle: services.urlOf("oracle") }, client, systemClock);
    for (const [name, happen] of Object.entries(troubles)) {
      await t.step(name, async () => {
        await using user = new TestUser(services.urls);
        user.load();
        await user.client.deposit(100_000_000n);
        gateway.mode = name.includes("after") ? "lose" : "hang";
        gateway.executions = gateway.lostAnswers = 0;
        await user.bet(90_000);
        await happen(services, gateway, user);
        // On a busy machine prices are stale for seconds, and such a bet is refused.
        await eventually("an outcome", () => user.resolved[0], 90_000);
        assert.deepEqual(user.resolved.map(({ name }) => name), ["placed"]);
        assert.equal(await user.count(), 1);
      });
    }
    await t.step(
      "if the solver is away until after the deadline, the page reports that nothing was placed",
      async () => {
        await using user = new TestUser(services.urls);
        user.load();
        await user.client.deposit(100_000_000n);
        gateway.mode = "hang";
        await user.bet(2_000);
        await services.stop("solver");
        gateway.release();
        await eventually("an outcome", () => user.resolved[0], 20_000);
        assert.deepEqual(user.resolved, [{ name: "refused", reason: EXPIRED }]);
        await services.start("solver");
        user.load();
        assert.deepEqual([user.bets.unresolved.value, await user.count()], [[], 0]);
      },
    );
  },
});

Deno.test({
  name: "Console: while an outcome is unknown no tab can place a second bet, also after a reload",
  ignore: !hasChromium,
  timeout: 120_000,
  async fn() {
    await using gateway: Gateway = new Gateway(() => services.urlOf("solver"));
    await using services = await TestServices.start({ solver: gateway.url });
    await using browser = await launchBrowser({ isCalm: true });
    const visitor = await Visitor.open(browser, services.urlOf("console"));
    await visitor.sees(/ETH\/USDT\s+[23],\d{3}\.\d{2}/);
    await visitor.enter();
    const other = await visitor.newTab();
    for (const tab of [visitor, other]) {
      await tab.press("Suggest a box");
      await tab.fill("startsIn", "60 s");
      await tab.sees(/Odds\s+×\s\d/);
    }
    await visitor.press("Get a quote");
    gateway.mode = "hang";
    await visitor.press("Sign and place the bet");
    await other.sees(/Your other tab is placing a bet/); // for 8 s
    await visitor.sees(/Outcome unknown, checking/);
    await visitor.sees(/You get\s+[\d.]+ USDC, at least [\d.]+/);
    await other.sees(/Outcome unknown, checking/);
    await visitor.page.reload();
    await visitor.sees(/Outcome unknown, checking/);
    const isBlocked = await visitor.page.$eval(
      ".action-bar button.wide",
      (button) => button.getAttribute("aria-disabled"),
    );
    assert.equal(isBlocked, "true");
    await eventually("sent again after the reload", () => gateway.executions >= 2);
    await visitor.sees(/Live/); // the maker answers everything else
    gateway.release();
    await visitor.sees(/Bet 1 is placed: it pays /);
    await other.sees(/Bet 1 is placed/);
    await visitor.sees(/● .*\s+Bet 1 is placed\./);
    assert.equal(
      await visitor.page.$("input[name=lower]"),
      null,
      "the box is not offered again",
    );
    for (const tab of [visitor, other]) await tab.seesNo(/Outcome unknown/);
    const client = new RangemakerClient({ urls: services.urls, chainId: 1337 });
    assert.equal(await client.thesis(2), null, "one bet");
    await other.page.close();
    await visitor.close({ outages: true });
  },
});
