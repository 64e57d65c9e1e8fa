/** What `rangemaker doctor` tries for the bridge. */
import { z } from "zod";
import { type Check, type CheckContext, waysToGive } from "../../lib/checks/check.ts";
import { nodeCheck, nodeClockCheck, permissionOnNodeCheck } from "../../lib/checks/core_node.ts";
import { keyCheck } from "../../lib/checks/key.ts";
import { needsOfPort, needsOfUrls, permissionCheck } from "../../lib/checks/permissions.ts";
import { portCheck } from "../../lib/checks/port.ts";
import { needsOfStore, storeCheck } from "../../lib/checks/store.ts";
import type { Signer } from "../../lib/protocol/signature.ts";
import { signerFrom } from "../../lib/service/keystore.ts";
import { type BridgeOptions, options } from "./mod.ts";

export { options };

const healthSchema = z.object({ status: z.string(), rpc: z.boolean(), bridge: z.string() });

/** Everything that the bridge is told to use. */
export function checks(given: Partial<BridgeOptions>, context: CheckContext): Check[] {
  const { host, port, rpcUrl, chainId, database, keystore, keystorePasswordFile } = given;
  const keyFiles = [keystore, keystorePasswordFile].filter((path) => path !== undefined);
  const signer = signerOnce(given);
  const all = [
    permissionCheck(
      options,
      needsOfPort(host, port),
      needsOfUrls(rpcUrl),
      needsOfStore(database),
      { read: keyFiles },
    ),
    keyCheck(signer, options.privateKey),
  ];
  if (rpcUrl !== undefined) {
    const node = { url: rpcUrl, option: options.rpcUrl };
    all.push(
      nodeCheck("node", node, context, chainId),
      permissionOnNodeCheck("relayer", signer, node, context),
      nodeClockCheck(node, context),
    );
  }
  if (database !== undefined) {
    all.push(storeCheck(database, "bridge", options.database, context));
  }
  if (host !== undefined && port !== undefined) {
    const { port: option } = options;
    all.push(portCheck("port", { host, port, option, health: healthSchema }, context));
  }
  return all;
}

/** The signer, opened once for all checks: a keystore takes its time on purpose. */
function signerOnce({ privateKey, keystore, keystorePasswordFile }: Partial<BridgeOptions>) {
  let opened: Promise<Signer> | undefined;
  const source = { privateKey, keystore, keystorePasswordFile };
  return () => opened ??= signerFrom(source, waysToGive(options.privateKey));
}
