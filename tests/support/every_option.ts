import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { encryptKeystoreJson, Wallet } from "ethers";
import { type OptionsOf, type OptionTable, withDefaults } from "../../lib/cli/options.ts";
import { sendRaw } from "./http_answers.ts";
import { freePort } from "./ports.ts";

/**
 * Checks the effects of the options of a service that was started with them.
 *
 * @param given The options of that start.
 * @param effects A check of each option's effect, which throws without one. Other options are
 *   checked with another start.
 */
export type Observe<T extends OptionTable> = (
  values: Partial<OptionsOf<T>>,
  effects: { [K in keyof T]?: () => Promise<void> | void },
) => Promise<void>;

/**
 * A test that every option of a service has an effect. `run` starts the service, several times if
 * options exclude each other, and observes. An option with its default value, or unobserved, fails.
 *
 * @param elsewhere Options whose effect needs a separate test, with the file that sets them.
 */
export function everyOption<T extends OptionTable>(
  table: T,
  run: (observe: Observe<T>) => Promise<void>,
  elsewhere: { [K in keyof T]?: string } = {},
): (t: Deno.TestContext) => Promise<void> {
  return async (t) => {
    const missing = new Set(Object.keys(table));
    const required = Object.entries(table).filter(([, spec]) => spec.required);
    // Anything: these have no default.
    const placeholders = Object.fromEntries(required.map(([key]) => [key, null]));
    const defaults = withDefaults(table, placeholders as Partial<OptionsOf<T>>);
    await run(async (values, effects) => {
      for (const [key, observe] of Object.entries(effects)) {
        if (!Object.hasOwn(values, key)) continue;
        assert.notDeepEqual(values[key], defaults[key], `${key} has its default`);
        await t.step(key, async () => await observe?.());
        missing.delete(key);
      }
    });
    for (const [key, file] of Object.entries(elsewhere)) {
      const text = await Deno.readTextFile(String(file));
      assert(text.includes(`${key}: `), `${file} does not set ${key}`);
      assert(missing.delete(key), `${key} is observed here`);
    }
    assert.deepEqual([...missing], [], "options whose effect is not observed");
  };
}

/** Writes a keystore and the file with its password. @returns The options that name them. */
export async function writeKeystore(folder: string, privateKey: string) {
  const keystore = `${folder}/key.json`;
  const keystorePasswordFile = `${folder}/password`;
  const scrypt = { N: 1024, r: 8, p: 1 };
  const json = await encryptKeystoreJson(new Wallet(privateKey), "a secret", { scrypt });
  await Deno.writeTextFile(keystore, json);
  await Deno.writeTextFile(keystorePasswordFile, "a secret\n");
  return { keystore, keystorePasswordFile };
}

/** An origin to allow. */
export const PAGE = "https://app.example";

/** That a service allows {@link PAGE} to read a route, and no other page. */
export async function assertAllowsPage(url: string): Promise<void> {
  for (const [origin, expected] of [[PAGE, PAGE], ["https://other.example", null]] as const) {
    const { headers, body } = await fetch(url, { headers: { origin } });
    await body?.cancel();
    assert.equal(headers.get("access-control-allow-origin"), expected, origin);
  }
}

/** A name to allow. */
export const NAME = "service.example";

/** That a service answers under {@link NAME}, and under no other foreign name. */
export async function assertAnswersAsName(url: string): Promise<void> {
  for (const [name, isAllowed] of [[NAME, true], ["other.example", false]] as const) {
    const lines = ["GET /metrics HTTP/1.1", `Host: ${name}`, "Connection: close"];
    const { status } = await sendRaw(url, lines);
    assert.equal(status, isAllowed ? 200 : 403, name);
  }
}

/** Where a service listens, and whom it answers, each unlike the default. */
export function listening() {
  return { port: freePort(), host: "127.0.0.2", corsOrigins: [PAGE], allowedHosts: [NAME] };
}

/** The effects of {@link listening} on a service; `path` answers any page that may read it. */
export function effectsOfListening(
  url: string,
  { port, host }: { port: number; host: string },
  path: string,
) {
  return {
    port: () => assert.equal(new URL(url).port, String(port)),
    host: () => assert.equal(new URL(url).hostname, host),
    corsOrigins: () => assertAllowsPage(url + path),
    allowedHosts: () => assertAnswersAsName(url),
  };
}

/** Rates, and how many of ten requests each limit refuses within one of its windows. */
export const RATE_LIMITS = [
  {
    given: { rateLimit: 2, trustProxy: false },
    refused: { address: 4, connection: 0, total: 0 },
  },
  { given: { rateLimitTotal: 1 }, refused: { address: 0, connection: 0, total: 7 } },
];

/** A window of the limiter, which counts in real time. */
const WINDOW_MS = 3_000;

/** Sends ten requests, each forwarded for another caller. @returns How many each limit refused. */
export async function refusalsOfTen(serviceUrl: string, path: string) {
  for (;;) {
    const before = await refusals(serviceUrl);
    const beganAtMs = performance.now();
    await Promise.all(Array.from({ length: 10 }, async (_, n) => {
      const headers = { "x-forwarded-for": `10.0.0.${n}` };
      await (await fetch(`${serviceUrl}${path}`, { headers })).body?.cancel();
    }));
    const tookMs = performance.now() - beganAtMs;
    const after = await refusals(serviceUrl);
    if (tookMs < WINDOW_MS) {
      const counts = Object.entries(after).map(([limit, n]) => [limit, n - (before[limit] ?? 0)]);
      return Object.fromEntries(counts);
    }
    await setTimeout(WINDOW_MS); // a second window has begun meanwhile, and it has to end
  }
}

async function refusals(serviceUrl: string): Promise<Record<string, number>> {
  const metrics = await (await fetch(`${serviceUrl}/metrics`)).text();
  const counts = metrics.matchAll(/^http_rate_limited_total\{limit="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...counts].map(([, limit, count]) => [limit, Number(count)]));
}
