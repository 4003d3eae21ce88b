// AzureOpenAI of openai-node, on the paths without deployments, and the call of Azure's samples for images:
// node azure.mjs 7 <job>
import { imageOf, job, report, variant, versionOf } from '../report.mjs';

const name = `openai-${variant}`;
const { AzureOpenAI } = await import(name);
const apiVersion = 'preview';
const azure = new AzureOpenAI({ apiKey: job.key, apiVersion, baseURL: job.url });
const ask = { model: 'gpt-5.5' };

await report(versionOf(import.meta.dirname, name), {
  ask: async () => ({ text: (await azure.responses.create({ ...ask, input: job.prompts.ask })).output_text }),
  askStream: async () => {
    const stream = azure.responses.stream({ ...ask, input: job.prompts.askStream });
    return { text: (await stream.finalResponse()).output_text };
  },
  draw: async () => {
    const response = await fetch(`${job.url}/images/generations?api-version=${apiVersion}`, {
      method: 'POST',
      headers: { 'api-key': job.key, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-image-2', prompt: job.prompts.draw, size: '1024x1024', n: 1 }),
    });
    return imageOf((await response.json()).data[0]);
  },
});
