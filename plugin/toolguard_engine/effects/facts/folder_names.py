"""The names that desktops give the personal folders of a user, in the languages that xdg-user-dirs speaks. Data only."""

from __future__ import annotations

from typing import Final

_NAMES: Final = """
aleniy | an deasg | argazkiak | asztal | attēli | avalik | belge | bideoak | bildoj | bilete | billers |
burev | bíómyndir | ceol | ceòl | cinema | cáipéisí | công | dakumenty | darbastalis | darbvirsma | dealbhan |
dealbhan-camara | deasc | destop | dokumendid | dokumenta | dokumentai | dokumentoj | dokumentuak | elokuvat |
escriptori | escritoriu | figura | film | filma | filmai | filmar | filmas | filmati | filme | filmeak |
filmek | filmer | filmes | filmi | filmichean | filmid | filmler | filmoj | filmovi | filmoù | films | filmy |
filmâts | foran | fotazdymki | fotaĵoj | fotky | foto | foto's | fotod | fotografi | fotografias |
fotografie | fotografies | fotografii | fotografije | fotogrāfijas | fotolar | foton | fotos | fotoğraflar |
fényképek | físeáin | fîlm | gelemperî | genel | grianghraif | hapësira e punës | imachens | imagines |
imagjins | imatges | imaxes | imáxenes | irudiak | javno | julkinen | labortablo | ljósmyndir |
luc'hskeudennoù | mahaigaina | malar | maler | mallar | mallid | mallit | malunki | modei | modele | modelli |
modellos | modelos | mosica | musiche | musiek | musika | musikk | musıqi | muusika | muzika | muziko |
muzikë | muzîk | myndir | màn hình nền | músicas | mūzika | mẫu | namizje | nhạc | nuotraukos | nyilvános |
oeffentlich | offentleg | offentlig | offentligt | openbaar | opið | patromoù | paveikslėliai | peliclas |
pel·lícules | películas | películes | phim | pictiúir | pildid | plantillas | plantilles | plantíes |
poblach | poiblí | poze | predloge | predlošci | prente | pubblici | publico | publiczny | publiek | publik |
publike | publikoa | publikt | publiskie | publičnaje | públic | público | públicu | radna površ |
radna površina | retratos | sablonok | scannáin | schrievdisk | scriptorio | scritori | semeyes | sermase |
sgrìobhainnean | sjablone | sjablonen | skabeloner | skeudennoù | skjáborð | skjöl | snimke | sniðmát |
sonerezh | stoł | szablony | teamplaidean | teimpléid | templat | teulioù | txantiloiak | tónlist | töölaud |
valokuvat | veidnes | verejné | vesiqalar | veřejné | video | video's | videod | videoioù | videoj |
videoklip | videoklipp | videothan | vidios | vidéos | vieša | vídeó | vîdeo | werkskerm | wêne | zdjęcia |
zenék | öffentlich | öpenlich | ŝablonoj | şablon | şablonlar | šablonai | šabloni | šablony | šablóny |
șabloane | βίντεο | δημόσια | εικόνεσ | επιφάνεια εργασίασ | πρότυπα | ταινίεσ | φωτογραφίεσ | видеа |
видеолар | видеолор | відэа | дакументы | документа | жалпы | жұмыс үстелі | загальне | иш кагаздар |
иш столу | картинки | малюнкі | мостри | общедоступные | ортақ | плот | површина | публични |
публічныя файлы | радна површ | слике | слики | снимки | стол | стільниця | суреттер | сүрөттөр | тасмалар |
фатаграфіі | филми | филмови | фильмдер | фильмы | фотографии | фотографије | фотографії | фотолар |
фотосүрөттөр | фільми | фільмы | шаблондор | шаблони | шаблоны | јавно | құжаттар | үлгілер | וידאו | מוסיקה |
סרטים | ציבורי | שולחן עבודה | תבניות | תצלומים | أفلام | الأفلام | الصور | الصور الضوئية | الفيديو |
القوالب | المستندات | الموسيقى | انځورونه | تصویرها | خپور | سرپاڼه | سطح المكتب | سندها | صور ضوئية | عام |
عمومی | عکسها | فلمونه | فيديو | فیلمها | قالبها | قوالب | لاسوندونه | ليديزې | موسيقى | موسیقی | میزکار |
ویدیوها | ټنګټکور | کوندې | चित्रपट | छायाचित्र | डेस्कटॉप | तस्वीर | दस्तऐवज | दस्तावेज़ | नमूना ख़ाका |
पब्लिक | फ़ोटो | मूवी | वीडियो | व्हिडिओज् | संगीत | साचे | सार्वजनिक | চলচ্চিত্ৰ | ছবিবোৰ | ডকুমেন্টবোৰ |
ডেস্কট'প | নমুনাবোৰ | ফ'টোবোৰ | ভিডিঅ'বোৰ | সংগীত | সাৰ্বজনীন | ਡੈਸਕਟਾਪ | ਤਸਵੀਰਾਂ | ਦਸਤਾਵੇਜ਼ | ਨਮੂਨੇ | ਪਬਲਿਕ |
ਫੋਟੋ | ਮੂਵੀ | ਵੀਡਿਓ | ਸੰਗੀਤ | ચિત્રપટો | ચિત્રો | ટૅમ્પલેટ | ડેસ્કટોપ | દસ્તાવેજો | ફોટા | વિડિયો | સંગીત |
સાર્વજનિક | ଚଳଚିତ୍ର | ଚଳଚିତ୍ରଗୁଡ଼ିକ | ଚିତ୍ରଗୁଡିକ | ଛବିଗୁଡ଼ିକ | ଡେସ୍କଟପ | ଦଲିଲ | ଦଲିଲଗୁଡ଼ିକ | ନମୁନାଗୁଡ଼ିକ |
ନମୁନାଗୁଡିକ | ଫୋଟୋଗୁଡ଼ିକ | ଭିଡିଓ | ଭିଡିଓଗୁଡ଼ିକ | ସଙ୍ଗୀତ | ସର୍ବସାଧାରଣ | ସାର୍ବଜନୀନ | ஆவணங்கள் | இசை |
நிழற்படங்கள் | படங்கள் | பணிமேடை | பொதுவான | மாதிரிஉருக்கள் | மூவிஸ் | வீடியோக்கள் | చలనచిత్రములు |
చిత్రములు | ఛాయాచిత్రములు | డెస్కుటాప్ | పత్రములు | పబ్లిక్ | మాదిరిలు | వీడియోలు | సంగీతం | ಗಣಕತೆರೆ |
ಚಲನಚಿತ್ರಗಳು | ಚಿತ್ರಗಳು | ಛಾಯಚಿತ್ರಗಳು | ಛಾಯಾಚಿತ್ರಗಳು | ದಸ್ತಾವೇಜುಗಳು | ಮಾದರಿಗಳು | ವಿಡಿಯೊಗಳು | ಸಂಗೀತ |
ಸಾರ್ವಜನಿಕ | ചലചിത്രങ്ങള് | ചിത്രങ്ങള് | പണിയിടം | പബ്ലിക് | ഫോട്ടോകള് | മാതൃകകള് | രേഖകള് | വീഡിയോകള് |
സംഗീതം | ดนตรี | พื้นโต๊ะ | ภาพถ่าย | ภาพยนตร์ | รูปภาพ | วีดิทัศน์ | สาธารณะ | เทมเพลต | เอกสาร | ảnh |
ảnh chụp | ảnh động | テンプレート | 公共 | 公開 | 写真 | 映画 | 模板 | 照片 | 电影 | 相片 | 電影 | 공개 | 서식 | 영화
"""  # noqa: RUF001 - letters of other languages

LOCALISED: Final = frozenset(map(str.strip, _NAMES.split("|")))
"""In lower case, without those that `place_names` has."""
