// node pay_axios.mjs URL...: pays for each URL with @x402/axios (protocol version 2), prints one line of JSON each.
import axios from "axios";
import { ExactEvmScheme } from "@x402/evm";
import { wrapAxiosWithPaymentFromConfig } from "@x402/axios";
import { decodePaymentResponseHeader } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

const account = privateKeyToAccount(process.env.BUYER_KEY);
const schemes = [{ network: "eip155:8453", client: new ExactEvmScheme(account) }];
const pay = wrapAxiosWithPaymentFromConfig(axios.create(), { schemes });
for (const url of process.argv.slice(2)) {
  const answer = await pay.get(url);
  const receipt = answer.headers["payment-response"];
  const settled = receipt && decodePaymentResponseHeader(receipt);
  const body = typeof answer.data === "object" ? answer.data : null;
  console.log(JSON.stringify({ status: answer.status, body, receipt: settled }));
}
