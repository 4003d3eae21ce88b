import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { experimental_generateImage as generateImage } from 'ai';
import { runAiSdk } from '../ai-sdk.mjs';
import { versionOf } from '../report.mjs';

const version = versionOf(import.meta.dirname, 'ai');
await runAiSdk(version, { generateImage, createOpenAI, createOpenAICompatible, edits: false });
