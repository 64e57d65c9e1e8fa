/**
 * A hostile network: services that claim another chain than the client was made for, so that what
 * the user signs could be submitted there. Whatever they answer, no wallet is asked for a
 * signature.
 */
import assert from "node:assert/strict";
import { Wallet as EthersWallet } from "ethers";
import { createWalletClient, custom } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  ChainError,
  type ClientUrls,
  offerFromJson,
  offerToJson,
  RangemakerClient,
  type Wallet,
} from "../../../lib/client/mod.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { quoteToWire } from "../../../lib/protocol/quote.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import {
  bet,
  CHAIN_ID,
  type Claims,
  clock,
  HONEST,
  offerOn,
  type Routes,
  solver,
  startServices,
} from "./fake_services.ts";

const PRODUCTION = 4_242;
const other = new LocalSigner(DEV_ACCOUNTS.relayer.privateKey);
const { address, privateKey } = DEV_ACCOUNTS.admin;
const account = privateKeyToAccount(privateKey);
const txHash = `0x${"ab".repeat(32)}` as const;

/** Runs a test against services that accept everything. @returns The requests. */
async function withNetwork(
  claims: Claims,
  test: (urls: ClientUrls) => Promise<void>,
): Promise<string[]> {
  const written: string[] = [];
  const { quote, quoteHash } = offerOn(claims.solver);
  const result = { txHash, status: "committed", thesisId: 7 };
  const routes: Routes = {
    "/bridge/deposit": () => (written.push("deposit"), { success: true, txHash }),
    "/solver/health": () => ({ solver: solver.address }),
    "/solver/quote": ({ betAmount }) =>
      betAmount === "1"
        ? { success: false, code: "PAYOUT_TOO_LOW", error: "It pays too little" }
        : { success: true, quote: quoteToWire(quote), quoteHash },
    "/solver/execute": () => (written.push("execute"), { success: true, result }),
  };
  await using services = startServices(routes, claims);
  await test(services.urls);
  return written;
}

/** Every kind of wallet, on production's chain if possible, with a count of its signatures. */
function walletsOf(asked: { signatures: number }): Record<string, Wallet> {
  const signTypedData = () => {
    asked.signatures += 1;
    return Promise.reject(new Error("Not to be asked"));
  };
  const provider = {
    request({ method }: { method: string }): Promise<unknown> {
      if (method === "eth_chainId") return Promise.resolve(`0x${PRODUCTION.toString(16)}`);
      if (method === "eth_requestAccounts") return Promise.resolve([address]);
      return signTypedData();
    },
  };
  const signer = new EthersWallet(privateKey);
  signer.signTypedData = signTypedData;
  const walletClient = createWalletClient({
    account: address,
    transport: custom(provider, { retryCount: 0 }),
  });
  return {
    "a viem account": { ...account, signTypedData },
    "a viem WalletClient": walletClient,
    "an EIP-1193 provider": provider,
    "an ethers signer": signer,
  };
}

const ATTACKS: Record<string, [Claims, (client: RangemakerClient) => Promise<unknown>]> = {
  "deposit, where the node claims another chain": [
    { node: PRODUCTION, bridge: CHAIN_ID, solver: CHAIN_ID },
    (client) => client.deposit(1_000_000n),
  ],
  "deposit, where the bridge is of another chain": [
    { node: CHAIN_ID, bridge: PRODUCTION, solver: CHAIN_ID },
    (client) => client.deposit(1_000_000n),
  ],
  "quote and execute, where the node claims another chain": [
    { node: PRODUCTION, bridge: CHAIN_ID, solver: PRODUCTION },
    async (client) => client.execute(await client.quote(bet)),
  ],
  "quote and execute, where the solver is of another chain": [
    { node: CHAIN_ID, bridge: CHAIN_ID, solver: PRODUCTION },
    async (client) => client.execute(await client.quote(bet)),
  ],
  "a quote that the solver refuses, where the node claims another chain": [
    { node: PRODUCTION, bridge: CHAIN_ID, solver: CHAIN_ID },
    (client) => client.quote({ ...bet, betAmount: 1n }),
  ],
  "an offer from JSON, where the node claims another chain": [
    { node: PRODUCTION, bridge: CHAIN_ID, solver: PRODUCTION },
    (client) => client.execute(offerFromJson(offerToJson(offerOn(PRODUCTION)))),
  ],
  "switchChain, where the node claims another chain": [
    { node: PRODUCTION, bridge: CHAIN_ID, solver: CHAIN_ID },
    (client) => client.switchChain(),
  ],
};

for (const [attack, [claims, play]] of Object.entries(ATTACKS)) {
  Deno.test(`Hostile network: ${attack}: CHAIN_MISMATCH, and nothing is signed`, async () => {
    const asked = { signatures: 0 };
    for (const [name, wallet] of Object.entries(walletsOf(asked))) {
      const written = await withNetwork(claims, async (urls) => {
        const client = new RangemakerClient({ urls, wallet, clock, chainId: CHAIN_ID });
        await assert.rejects(play(client), (thrown) => {
          assert(thrown instanceof ChainError, `${name}: ${thrown}`);
          const { code, details: { expected, actual }, retry } = thrown;
          assert.deepEqual(
            [code, expected, actual, retry],
            ["CHAIN_MISMATCH", CHAIN_ID, PRODUCTION, "never"],
          );
          return true;
        });
      });
      assert.deepEqual([written, asked.signatures], [[], 0], name);
    }
  });
}

Deno.test("sign: an offer of another chain, another solver or other terms is not signed", async () => {
  const asked = { signatures: 0 };
  const { "an ethers signer": wallet } = walletsOf(asked);
  const { quote } = offerOn(CHAIN_ID);
  const changed = { ...offerOn(CHAIN_ID), quote: { ...quote, payout: quote.payout - 1n } };
  const forged = { ...offerOn(CHAIN_ID), quote: { ...quote, signature: `${txHash}` as const } };
  const refusals = [
    [offerOn(PRODUCTION), "QUOTE_HASH_MISMATCH"],
    [changed, "QUOTE_HASH_MISMATCH"],
    [forged, "QUOTE_SIGNER_MISMATCH"],
    [offerOn(CHAIN_ID, other), "QUOTE_SIGNER_MISMATCH"],
  ] as const;
  await withNetwork(HONEST, async (urls) => {
    const options = { urls, wallet, clock, chainId: CHAIN_ID, solver: solver.address };
    const client = new RangemakerClient(options);
    for (const [offer, code] of refusals) await assert.rejects(client.execute(offer), { code });
  });
  assert.equal(asked.signatures, 0);
});

Deno.test("quote: if the option solver is set, only quotes signed by that address are accepted", () =>
  withNetwork(HONEST, async (urls) => {
    const options = { urls, wallet: account, clock, chainId: CHAIN_ID };
    const lowerCase = solver.address.toLowerCase() as `0x${string}`;
    const client = new RangemakerClient({ ...options, solver: lowerCase });
    assert.deepEqual(await client.quote(bet), offerOn(CHAIN_ID));
    assert.deepEqual(await client.execute(await client.quote(bet)), { thesisId: 7, txHash });
    await assert.rejects(new RangemakerClient({ ...options, solver: other.address }).quote(bet), {
      code: "QUOTE_SIGNER_MISMATCH",
      details: {
        quoteHash: offerOn(CHAIN_ID).quoteHash,
        signer: solver.address,
        expected: other.address,
      },
    });
  }).then(() => {}));
