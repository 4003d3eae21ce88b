interface Greeting {
  readonly url: string;
  /** A link that creates the first owner; undefined when there already is an owner. */
  readonly adminLink: string | undefined;
  readonly apiKey: string;
  readonly image: string;
  readonly logs: string;
  readonly durationMs: number;
}

/** The text that the terminal shows once everything runs. */
export function greeting({ url, adminLink, apiKey, image, logs, durationMs }: Greeting): string {
  return `
Darkroom is ready: it started in ${seconds(durationMs)}.

  Address        ${url}
  Console        ${adminLink ?? `${url}/console`}
  API reference  ${url}/docs
  API key        ${apiKey}
  First image    ${image}
  Logs           ${logs}

${adminLink === undefined ? '' : `Open the console's link within 24 hours to become its owner; it works once.\n\n`}Generate another image: paste this into a second terminal.

${curlLine(url, apiKey)}

Ctrl-C stops everything.`;
}

/** A curl command that generates an image and saves it as fox.png. */
function curlLine(url: string, apiKey: string): string {
  return [
    `curl -s ${url}/v1/images/generations`,
    `-H 'Authorization: Bearer ${apiKey.replaceAll("'", `'\\''`)}'`,
    `-H 'Content-Type: application/json'`,
    `-d '{"model":"gpt-image-2","prompt":"A red fox in fresh snow","response_format":"url"}'`,
    `| grep -o 'http[^"]*' | xargs curl -so fox.png`,
  ].join(' ');
}

/** A duration for the terminal. */
export function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}
