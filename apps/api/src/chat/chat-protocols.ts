import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { ChatProvider } from '#providers/chat/chat-provider.js';
import { OpenAiChat } from '#providers/chat/openai-chat.js';
import { SandboxChat } from '#providers/sandbox-chat/sandbox-chat.js';
import { CHAT_COMPLETIONS, type ChatApi } from './chat-api.js';

/** How each type of provider is called for a chat. */
@Injectable()
export class ChatProtocols implements OnApplicationShutdown {
  constructor(
    private readonly openai: OpenAiChat,
    private readonly sandbox: SandboxChat,
  ) {}

  /** Undefined for a type without this API. */
  of(type: string, api: ChatApi): ChatProvider | undefined {
    if (type === 'openai') return this.openai;
    return type === 'sandbox' && api === CHAT_COMPLETIONS ? this.sandbox : undefined;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.openai.close();
  }
}
