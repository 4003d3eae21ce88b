// AzureOpenAI of openai-node as Azure's samples make it, with an endpoint and deployments: node azure.mjs 7 <job>
import { fileOf, imageOf, job, report, variant, versionOf } from '../report.mjs';

const name = `openai-${variant}`;
const { AzureOpenAI } = await import(name);
const azure = new AzureOpenAI({ apiKey: job.key, apiVersion: 'preview', endpoint: new URL(job.url).origin });
const ask = { model: 'gpt-5.5' };
const draw = { model: 'gpt-image-2', size: '1024x1024', n: 1 };

await report(versionOf(import.meta.dirname, name), {
  ask: async () => ({ text: (await azure.responses.create({ ...ask, input: job.prompts.ask })).output_text }),
  askStream: async () => {
    const stream = azure.responses.stream({ ...ask, input: job.prompts.askStream });
    return { text: (await stream.finalResponse()).output_text };
  },
  draw: async () => imageOf((await azure.images.generate({ ...draw, prompt: job.prompts.draw })).data[0]),
  reference: async () => {
    const image = fileOf(job.images[0]);
    return imageOf((await azure.images.edit({ ...draw, image, prompt: job.prompts.reference })).data[0]);
  },
});
