// LangChain's image tool, which generates only: node client.mjs <url|b64_json> <job>
import { DallEAPIWrapper } from '@langchain/openai';
import { download, insist, job, report, sizeOf, variant, versionOf } from '../report.mjs';

const toolOf = (more) =>
  new DallEAPIWrapper({
    apiKey: job.key,
    baseUrl: job.url,
    model: 'gpt-image-2',
    dallEResponseFormat: variant,
    ...more,
  });

async function generate(prompt, more) {
  const answer = await toolOf(more).invoke(prompt);
  return variant === 'url'
    ? { link: sizeOf(await download(answer)) }
    : { base64: sizeOf(Buffer.from(answer, 'base64')) };
}

await report(versionOf(import.meta.dirname, '@langchain/openai'), {
  generation: () => generate(job.prompts.generation),
  refused: () => generate('a house', { size: 'huge' }),
  stranger: () => generate('a house', { apiKey: 'sk-nobody' }),
  cut: () => generate(job.prompts.cut),
  badGateway: () => generate(job.prompts.badGateway),
  patience: () => insist(() => generate(job.prompts.patience)),
});
