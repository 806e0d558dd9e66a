<?php
/** Reads queries, forms, multipart forms and JSON, one request a line, as PHP fills $_GET and $_POST, and prints them. */
ini_set('display_errors', '0');

/** The pairs of a multipart form as the text that PHP registers in the same way. */
function multipart(string $body, string $type): string {
    preg_match('/boundary=(.+)$/', $type, $found);
    $pairs = [];
    foreach (array_slice(explode('--' . $found[1], $body), 1, -1) as $part) {
        [$head, $value] = explode("\r\n\r\n", $part, 2);
        if (str_contains($head, 'filename=') || !preg_match('/name="([^"]*)"/', $head, $name)) continue;
        $pairs[] = urlencode($name[1]) . '=' . urlencode(substr($value, 0, -2));
    }
    return implode('&', $pairs);
}

while (($line = fgets(STDIN)) !== false) {
    $one = json_decode($line, true);
    $body = base64_decode($one['body']);
    $type = $one['contentType'];
    parse_str($one['query'], $query);
    $readings = [(object) $query];
    if (str_starts_with($type, 'application/json')) {
        $readings[] = ['(json)' => [json_decode($body)]];
    } elseif ($type !== '') {
        parse_str(str_starts_with($type, 'multipart/') ? multipart($body, $type) : $body, $post);
        $readings[] = (object) $post;
    }
    echo json_encode($readings, JSON_INVALID_UTF8_SUBSTITUTE | JSON_PARTIAL_OUTPUT_ON_ERROR), "\n";
}
