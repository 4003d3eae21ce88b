/** Token usage of one image, in OpenAI's format; present only if the provider reported it. */
export interface ImageUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly input_tokens_details?: { readonly text_tokens: number; readonly image_tokens: number };
  readonly output_tokens_details?: { readonly text_tokens: number; readonly image_tokens: number };
}
