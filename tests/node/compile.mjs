// node compile.mjs FILE.sol: prints the runtime bytecode of the file's one contract, in hex.
import { readFileSync } from "node:fs";
import solc from "solc";

const source = readFileSync(process.argv[2], "utf8");
const settings = {
  evmVersion: "paris",
  viaIR: true,
  optimizer: { enabled: true, runs: 200 },
  metadata: { appendCBOR: false },
  outputSelection: { "*": { "*": ["evm.deployedBytecode.object"] } },
};
const input = { language: "Solidity", sources: { "token.sol": { content: source } }, settings };
const output = JSON.parse(solc.compile(JSON.stringify(input)));
for (const error of output.errors ?? []) console.error(error.formattedMessage);
const [contract] = Object.values(output.contracts["token.sol"]);
console.log(contract.evm.deployedBytecode.object);
