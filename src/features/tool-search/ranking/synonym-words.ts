/**
 * Words of similar meaning, and words of one subject. Requests use other words than descriptions: `remove` for
 * `delete_row`, `apartment` for a tool about real estate. Words of everyday English and of software; groups end with a
 * semicolon, and words joined by a hyphen are a phrase.
 */

/** Actions of tools. In a query for several things, the next one starts with such a word. */
export const ACTIONS = `
get fetch retrieve read load obtain pull acquire; show display view see present render; list enumerate browse all;
find search query locate discover lookup seek look; create add new make insert open; generate produce compose craft build;
write save store record persist put; edit update modify change patch alter revise adjust set; convert transform change;
delete remove drop erase purge destroy clear discard trash unlink rid; send deliver dispatch transmit mail message notify;
post publish share submit upload; notify alert remind warn; run execute invoke launch start perform trigger; upload import;
stop cancel abort terminate kill end halt quit shut; pause suspend freeze; resume continue; begin start; finish complete done;
copy duplicate clone replicate; move relocate transfer migrate rename; check verify validate inspect test confirm examine ensure;
analyze analysis analytics analyse assess evaluate evaluation examine; compare diff difference differences contrast versus;
translate translation translator language; summarize summary summarise digest overview brief recap tldr abstract;
explain describe description clarify interpret; calculate compute calculation calculator computation determine;
count number total amount quantity tally; estimate predict forecast prediction projection; download export fetch;
recommend suggest advice advise recommendation suggestion propose tips guidance; buy purchase order shop acquire; sell sale sales;
book reserve reservation booking; schedule plan planner planning arrange organize; rank sort order; filter select;
connect link join attach relate relation relationship; disconnect detach; install setup deploy; deploy release ship rollout;
configure config configuration settings setting preference option; enable activate allow; disable deactivate block deny forbid;
permit allow permission permitted allowed access; login signin authenticate authentication sign-in log-in auth; invite add;
register signup enroll subscribe sign-up; merge combine join concatenate unite; split divide separate; undo revert rollback reset;
monitor watch track observe; restore recover; archive backup; lock protect; encrypt encryption cipher; decrypt decode;
encode encoding; compress zip; extract scrape parse crawl; draw sketch paint; design style; play listen stream; rewrite rephrase;
learn study teach education tutorial lesson; solve answer reply respond response; ask question inquire; capture screenshot snapshot;
talk chat speak conversation converse dialogue; think reason reasoning thought thinking; remember recall memory memorize;
click press tap; type enter input fill; navigate goto visit browse; scan detect detection recognize recognition identify;
improve enhance optimize optimise optimization better refine polish boost; rephrase paraphrase reword polish;
correct fix repair proofread; debug troubleshoot diagnose; assign delegate; approve accept; reject decline refuse;
comment note remark annotation annotate; pay payment charge checkout; refund reimburse; rent rental lease renting;
hire recruit recruitment recruiting; invest investment investing investor; fly flight plane airline airplane; cook cooking recipe;
drive driving route directions navigation; ride taxi cab; eat dining dine; visualize visualise chart plot; turn switch toggle;
`;

/** Objects of tools. */
export const THINGS = `
travel trip journey vacation holiday tour tourism itinerary getaway; file document doc; folder directory dir; path location;
picture image photo photograph pic photography; video clip film footage; movie film cinema; show series television tv;
song track music tune audio; sound audio voice; speech voice tts text-to-speech spoken; podcast episode; book novel reading ebook;
article blog news story; news headline headlines; post article blog; research study investigation scientific;
paper papers publication article literature journal scholarly academic; website site web webpage web-site homepage; page webpage;
url link hyperlink address; web internet online; email mail e-mail inbox gmail; message text sms dm; phone telephone call mobile;
chat message im; channel room; user account member person people profile; username login handle; password credential secret;
token key credential; team group; company business firm corporation enterprise organization organisation startup;
customer client buyer consumer; employee staff worker personnel; manager boss; contact lead; interview hiring;
job career employment position vacancy occupation; salary wage pay income earnings; resume cv curriculum;
product item merchandise goods commodity; price cost rate fee fare quote; cheap affordable inexpensive budget discount bargain deal;
discount coupon promo voucher deal offer promotion; gift present; invoice bill receipt; expense spending cost expenditure;
budget finance; money cash currency funds; currency forex exchange exchange-rate dollar euro yen; bank banking;
crypto cryptocurrency bitcoin ethereum blockchain token coin; stock share equity ticker; loan mortgage credit lending;
insurance coverage policy; tax taxation irs; house home property apartment flat real-estate housing residence residential condo realestate;
hotel accommodation lodging stay hostel motel airbnb; restaurant dining eatery cafe; food meal dish cuisine;
diet nutrition calorie calories nutritional; drink beverage cocktail wine; car vehicle automobile auto; bike bicycle;
train rail railway; bus transit transport transportation; ship boat vessel; package parcel shipment delivery shipping;
weather forecast temperature climate meteorological rain; map location place geographic geography; location place position address;
city town municipality; country nation; place venue destination; nearby near close local around; distance far; direction route;
time clock hour; date day calendar; timezone tz time-zone; event meeting appointment; calendar agenda schedule;
task todo to-do ticket reminder; issue ticket bug; bug defect error fault; error exception failure crash;
project repository repo; repository repo codebase; pr pull-request merge-request mr; commit revision; branch fork;
code source program programming software snippet coding; developer programmer coder; library package module dependency;
app application; api endpoint; function method procedure; database db sql; table sheet; spreadsheet sheet excel; row record entry;
column field; schema structure; dataset data; chart graph plot diagram visualization; diagram flowchart mindmap; graph network;
node entity; edge relation; observation fact; server host machine; container docker; cluster kubernetes k8s; cloud aws azure;
vm instance virtual-machine; domain dns; certificate ssl tls; security vulnerability threat; log logs history record journal audit;
metric metrics statistics stats statistic kpi; report summary; dashboard panel; seo search-engine-optimization;
ad ads advertisement advertising advert; marketing advertising campaign promotion; social-media facebook instagram twitter;
tweet twitter; slide slides presentation powerpoint deck; note notes memo; keyword term; word vocabulary term;
dictionary definition meaning define; synonym thesaurus; sentence phrase; grammar spelling; language linguistic; text content string;
prompt instruction; quote quotation saying; joke humor funny; game gaming play; puzzle riddle quiz trivia; chess board;
sport sports game match; football soccer; team club; score result; race racing; tournament competition league championship;
astrology horoscope zodiac tarot fortune; dream sleep; health medical healthcare wellness; doctor physician;
medicine drug medication pharmaceutical; disease illness condition disorder; hospital clinic; fitness exercise workout training gym;
yoga meditation mindfulness; mental psychological; law legal legislation statute regulation; lawyer attorney; court judge case lawsuit;
crime criminal; contract agreement; patent trademark; politics political politician government; election vote voting;
school university college; course class lesson training curriculum; student pupil; teacher tutor instructor; exam test quiz;
homework assignment; math mathematics mathematical arithmetic algebra; equation formula expression; statistics statistical;
science scientific; space astronomy astronomical planet; chemistry chemical; biology biological; physics physical;
gene genetic dna genome; animal pet; dog puppy; cat kitten; plant plants gardening garden flower; child kid children kids; baby infant;
woman female; man male; fashion clothing clothes apparel outfit wear dress; shoe shoes sneakers; beauty cosmetics makeup skincare;
furniture decor; recipe ingredient; art artwork painting; artist painter; museum gallery; theater theatre broadway; concert gig;
ticket admission; festival event; religion religious; bible scripture; charity donation donate nonprofit;
climate environment environmental; energy power electricity; air pollution; earthquake disaster; color colour; size dimension;
weight mass; speed velocity; picture avatar; logo brand branding icon; name title; qr qrcode barcode qr-code; random roll dice;
gif animation sticker meme; subtitle caption transcript transcription transcribe; template layout; form survey questionnaire poll;
review rating feedback opinion reviews; trend trending popular trends; insight insights takeaway finding;
latest recent new current newest today; best top; big large; fast quick; entire whole complete full; part piece section;
multiple several many; metadata info information detail details; status state condition progress; type kind category; tag label;
version release; permission access right role; disk storage filesystem file-system; memory ram; cpu processor;
subfolder subdirectory nested; tree hierarchy nested; wildcard pattern glob; history past previous; array list; browser chrome;
ai artificial-intelligence; ml machine-learning; llm gpt; iot internet-of-things; hr human-resources; pdf document;
`;

/** Subjects, with the words of each. */
export const SUBJECTS = `
stock share market finance financial invest portfolio trading trade dividend earnings revenue option bond fund etf nasdaq ticker
equity crypto economy valuation; house home property estate mortgage rent apartment bedroom neighborhood landlord tenant realtor
buyer housing; travel trip hotel flight tourist attraction destination itinerary sightseeing vacation accommodation booking airport;
shop shopping product buy purchase store price brand item retailer ecommerce amazon order cart discount gift;
research paper academic arxiv study scholar literature citation bibliography journal peer scientific pubmed thesis;
seo keyword ranking backlink traffic search optimization website marketing engine blog;
news headline press journalist breaking media world event; law legal legislation statute court attorney regulation rights lawsuit bill;
astrology horoscope zodiac tarot birth sign; weather forecast temperature rain humidity wind snow storm sunny climate;
job career resume interview hiring salary employer recruiter; course learn education university lesson tutorial training skill degree;
diet calorie nutrition recipe meal food ingredient cook restaurant grocery protein vitamin;
music song playlist artist album band genre lyrics; movie film show tv actor director watch series entertainment;
sport team player score match league game season; chart graph plot diagram visualize bar pie;
code github repository programming developer project snippet library; currency exchange convert rate dollar euro;
company business industry revenue employee ceo profile; health medical doctor symptom disease treatment medicine;
fitness workout exercise gym muscle; email inbox sender recipient subject reply; git commit branch merge stage diff;
file directory folder path; database sql table query row column; browser page click screenshot tab;
calendar event meeting schedule; task project ticket sprint issue; space nasa planet mars star galaxy satellite astronomy;
image photo picture draw art design; video youtube subtitle clip; map location navigate latitude longitude route;
text write rewrite grammar article essay; car vehicle dealer drive; crypto bitcoin ethereum wallet blockchain nft token defi;
game play puzzle player; security password vulnerability encryption;
`;
