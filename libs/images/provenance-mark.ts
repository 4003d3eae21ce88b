const SOURCE_TYPES = 'http://cv.iptc.org/newscodes/digitalsourcetype/';

/** What a mark states about an image. Ids and names contain no characters that are special in XML. */
export interface ProvenanceMark {
  readonly taskId: string;
  readonly action: 'generation' | 'edit';
  /** The product's name and version. */
  readonly tool: string;
}

/**
 * XMP that states that a model generated the image (IPTC's digital source type, which search engines and platforms
 * read). It contains the task id, and nothing about the user or the prompt.
 */
export function markXmp({ taskId, action, tool }: ProvenanceMark): string {
  const source = action === 'edit' ? 'compositeWithTrainedAlgorithmicMedia' : 'trainedAlgorithmicMedia';
  return [
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>',
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">',
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
    '<rdf:Description rdf:about=""',
    ' xmlns:xmp="http://ns.adobe.com/xap/1.0/"',
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"',
    ' xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"',
    ` xmp:CreatorTool="${tool}"`,
    ` dc:identifier="${taskId}"`,
    ` Iptc4xmpExt:DigitalSourceType="${SOURCE_TYPES}${source}"/>`,
    '</rdf:RDF>',
    '</x:xmpmeta>',
    '<?xpacket end="r"?>',
  ].join('\n');
}
