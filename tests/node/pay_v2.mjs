// node pay_v2.mjs URL...: pays for each URL with @x402/fetch (protocol version 2), prints one line of JSON each.
import { ExactEvmScheme } from "@x402/evm";
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

const account = privateKeyToAccount(process.env.BUYER_KEY);
const schemes = [{ network: "eip155:8453", client: new ExactEvmScheme(account) }];
const pay = wrapFetchWithPaymentFromConfig(fetch, { schemes });
for (const url of process.argv.slice(2)) {
  const answer = await pay(url);
  const receipt = answer.headers.get("PAYMENT-RESPONSE");
  const settled = receipt && decodePaymentResponseHeader(receipt);
  const isJson = answer.headers.get("Content-Type").startsWith("application/json");
  const body = isJson ? await answer.json() : null;
  console.log(JSON.stringify({ status: answer.status, body, receipt: settled }));
}
