# Reads queries, forms, multipart forms and JSON, one request a line, as Rack does, and prints what it finds.
require "json"
require "rack"
require "rack/method_override"
require "stringio"

def plain(value)
  case value
  when Hash then value.to_h { |key, inner| [key.to_s, plain(inner)] }
  when Array then value.map { |inner| plain(inner) }
  when String then value.dup.force_encoding("UTF-8").scrub
  else value
  end
end

# A request that Rack refuses reaches no server.
def read
  plain(yield || {})
rescue Rack::QueryParser::ParameterTypeError, Rack::QueryParser::InvalidParameterError, RangeError, EOFError
  {}
end

$stdin.each_line do |line|
  one = JSON.parse(line)
  body = one["body"].unpack1("m")
  type = one["contentType"]
  env = {
    "REQUEST_METHOD" => "POST", "QUERY_STRING" => one["query"], "CONTENT_TYPE" => type,
    "CONTENT_LENGTH" => body.bytesize.to_s, "rack.input" => StringIO.new(body), "rack.errors" => StringIO.new,
  }
  request = Rack::Request.new(env)
  readings = [read { request.GET }]
  if type.start_with?("application/json")
    readings << { "(json)" => [JSON.parse(body, max_nesting: false)] }
  elsif type != ""
    readings << read { request.POST }
    used = begin
      Rack::MethodOverride.new(nil).method_override(env)
    rescue StandardError
      nil
    end
    readings << { "(method)" => used } if used && used != "POST" && used != ""
  end
  puts JSON.generate(readings)
end
