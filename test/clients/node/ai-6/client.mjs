import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateImage, generateText, streamText } from 'ai';
import { chatWithAiSdk, runAiSdk } from '../ai-sdk.mjs';
import { variant, versionOf } from '../report.mjs';

const version = versionOf(import.meta.dirname, 'ai');
if (variant === 'responses') await chatWithAiSdk(version, { generateText, streamText, createOpenAI });
else await runAiSdk(version, { generateImage, createOpenAI, createOpenAICompatible, edits: true });
