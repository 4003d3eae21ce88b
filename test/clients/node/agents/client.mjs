// OpenAI's Agents SDK with chat completions, or with Responses, its default: node client.mjs <agents|responses> <job>
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { fileOf, imageOf, job, report, variant, versionOf } from '../report.mjs';

const client = new OpenAI({ apiKey: job.key, baseURL: job.url });
const runner = new Runner({
  modelProvider: new OpenAIProvider({ openAIClient: client, ...(variant === 'agents' ? { useResponses: false } : {}) }),
  // Traces would go to OpenAI.
  tracingDisabled: true,
});
const images = [];
const draw = tool({
  name: 'draw',
  description: 'Draws an image.',
  parameters: z.object({ prompt: z.string() }),
  execute: async ({ prompt }) => {
    const { data } = await client.images.generate({ model: 'gpt-image-2', prompt });
    images.push(data[0]);
    return data[0].url;
  },
});
const assistant = new Agent({ name: 'Assistant', instructions: 'Be brief.', model: 'gpt-5.5', tools: [draw] });
const painter = new Agent({ name: 'Painter', instructions: 'Draw what you are told.', model: 'gpt-image-2' });

/** The image that a text shows. */
const shown = (text) => imageOf({ url: /^!\[image\]\((\S+)\)$/.exec(text)?.[1] });

const steps = {
  tool: async () => {
    const { finalOutput } = await runner.run(assistant, job.prompts.tool);
    return { text: finalOutput, ...(await imageOf(images[0])) };
  },
  chat: async () => shown((await runner.run(painter, job.prompts.chat)).finalOutput),
  stream: async () => {
    const stream = await runner.run(painter, job.prompts.stream, { stream: true });
    let text = '';
    for await (const piece of stream.toTextStream()) text += piece;
    return shown(text);
  },
  reference: async () => {
    const image = `data:image/png;base64,${Buffer.from(await fileOf(job.images[0]).arrayBuffer()).toString('base64')}`;
    const content = [
      { type: 'input_text', text: job.prompts.reference },
      { type: 'input_image', image },
    ];
    return shown((await runner.run(painter, [{ role: 'user', content }])).finalOutput);
  },
};

/** Only chat models have Responses. */
const responses = {
  tool: steps.tool,
  ask: async () => ({ text: (await runner.run(assistant.clone({ tools: [] }), job.prompts.ask)).finalOutput }),
  askStream: async () => {
    const stream = await runner.run(assistant.clone({ tools: [] }), job.prompts.askStream, { stream: true });
    let text = '';
    for await (const piece of stream.toTextStream()) text += piece;
    return { text };
  },
};
await report(versionOf(import.meta.dirname, '@openai/agents'), variant === 'agents' ? steps : responses);
