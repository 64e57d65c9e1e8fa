import { WebSocketProvider } from "ethers";
import { createPublicClient, webSocket } from "viem";
import { RpcSocket } from "./rpc_socket.ts";

/** A client of another project, unmodified, that counts the heads it receives. */
export interface HeadFollower extends AsyncDisposable {
  name: string;
  heads: number;
}

/** viem, ethers and a bare socket, each following `newHeads` on a connection of its own. */
export async function followers(wsUrl: string): Promise<HeadFollower[]> {
  return await Promise.all([followWithViem(wsUrl), followWithEthers(wsUrl), followBare(wsUrl)]);
}

async function followWithViem(wsUrl: string): Promise<HeadFollower> {
  const transport = webSocket(wsUrl, { keepAlive: false, reconnect: false, retryCount: 0 });
  const client = createPublicClient({ transport });
  const subscription = await client.transport.subscribe({
    params: ["newHeads"],
    onData: () => follower.heads += 1,
  });
  const follower: HeadFollower = {
    name: "viem",
    heads: 0,
    async [Symbol.asyncDispose]() {
      await subscription.unsubscribe();
      (await client.transport.getRpcClient()).close();
    },
  };
  return follower;
}

async function followWithEthers(wsUrl: string): Promise<HeadFollower> {
  const provider = new WebSocketProvider(wsUrl, undefined, { cacheTimeout: -1 });
  const follower: HeadFollower = {
    name: "ethers",
    heads: 0,
    async [Symbol.asyncDispose]() {
      await provider.destroy();
    },
  };
  await provider.on("block", () => follower.heads += 1);
  return follower;
}

async function followBare(wsUrl: string): Promise<HeadFollower> {
  const socket = await RpcSocket.open(wsUrl);
  const { result } = await socket.call(1, "eth_subscribe", ["newHeads"]);
  return {
    name: "bare socket",
    get heads() {
      return socket.notifications(result).length;
    },
    [Symbol.asyncDispose]: () => socket.close(),
  };
}
