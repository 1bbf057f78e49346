// parse - what Node's own HTTP parser makes of each file named in the arguments: a line of JSON per
// file, in the form of the parser's unit test. Run it with --expose-internals.
"use strict";
const fs = require("fs");
const { internalBinding } = require("internal/test/binding");
const { HTTPParser, allMethods } = internalBinding("http_parser");

function parse(input) {
  const seen = { done: false, error: null, fields: 0, method: "", target: "", body: "" };
  const body = [];
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.REQUEST, {}, 1 << 20, 0);
  parser[HTTPParser.kOnHeaders | 0] = (headers, url) => {
    seen.fields += headers.length / 2;
    seen.target += url;
  };
  parser[HTTPParser.kOnHeadersComplete | 0] = (major, minor, headers, method, url) => {
    if (seen.done) return 0; // pipelined behind the first
    if (headers) seen.fields += headers.length / 2;
    if (url) seen.target += url;
    seen.method = allMethods[method];
    return 0;
  };
  parser[HTTPParser.kOnBody | 0] = (piece) => {
    if (!seen.done) body.push(Buffer.from(piece));
  };
  parser[HTTPParser.kOnMessageComplete | 0] = () => {
    seen.done = true;
  };
  const result = parser.execute(input);
  if (result instanceof Error) seen.error = result.code;
  parser.close();
  seen.method = Buffer.from(seen.method).toString("hex");
  seen.target = Buffer.from(seen.target, "latin1").toString("hex");
  seen.body = Buffer.concat(body).toString("hex");
  return seen;
}

for (const path of process.argv.slice(2)) {
  const parsed = parse(fs.readFileSync(path));
  process.stdout.write(JSON.stringify(parsed) + "\n");
}
